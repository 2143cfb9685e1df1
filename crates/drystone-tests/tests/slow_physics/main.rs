//! Long runs: what rests must stay where it is for 10⁵ steps, and no energy may come from nowhere in larger
//! piles.

mod drift;
mod energy;
mod silo;
