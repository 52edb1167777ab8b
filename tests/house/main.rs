//! The house holds its shape, and the guide is true.

mod guide;
mod imports;
mod shape;
