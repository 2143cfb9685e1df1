//! Broad phase: all pairs of boxes that overlap, without looking at all pairs.
