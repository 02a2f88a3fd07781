//! The tools of an agent.

mod nearest;
mod place;

pub use place::{Check, Inside, Opened, PlaceError, Surroundings, Workplace};
