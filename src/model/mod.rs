//! Models: the doors through which a run's roles are asked.

pub mod offline;
