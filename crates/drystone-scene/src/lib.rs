//! drystone-scene
