//! drystone-solve
