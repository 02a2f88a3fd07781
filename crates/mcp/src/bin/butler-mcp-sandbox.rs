//! The sandbox's helper alone, for the tests of this crate. The product re-executes
//! itself instead.

fn main() {
    butler_sandbox::helper_main()
}
