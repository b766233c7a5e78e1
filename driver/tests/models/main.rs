//! Models that are checked in every order of their steps, over the same functions that decide in the product.

#[cfg(test)]
mod fences;
#[cfg(test)]
mod finalizers;
#[cfg(test)]
mod triggers;
