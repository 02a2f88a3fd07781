//! The helper alone, for the tests of this crate and for cells that test
//! against it. The product re-executes itself instead.

fn main() {
    butler_sandbox::helper_main()
}
