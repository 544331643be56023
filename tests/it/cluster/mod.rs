//! Clusters of several nodes: failover, slots that move, replicas that lag.

mod erasure;
mod half_moved;
mod lagging;
mod replica;
mod slots;
mod storm;
mod story;
