//! A part of a settings file, with what holds where nobody wrote anything.

/// A struct whose fields may all be missing. One that has another value then than its type's
/// own says it behind `=`.
macro_rules! settings {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$about:meta])* pub $field:ident: $type:ty $(= $unset:expr)?,)*
    }) => {
        $(#[$meta])*
        #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            $($(#[$about])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: settings!(@unset $type $(, $unset)?),)*
                }
            }
        }
    };
    (@unset $type:ty) => {
        <$type>::default()
    };
    (@unset $type:ty, $unset:expr) => {
        $unset
    };
}
