//! The declaration of a type's fields.

/// Declares the fields of a type, each once: a row makes the field's resolver, and the source of its value for lists
/// that are written without resolvers ([`Preloaded::source`](super::Preloaded::source)). After the type are the scope
/// of its cached responses, and a function that returns the scope to whose budget its text is charged. The rows have
/// the name in Rust, the name in the schema, the type and a function that reads the value of an object:
///
/// - `value`: a [`Leaf`](super::Leaf).
/// - `text`: a string whose length the resolver charges to the budget.
/// - `object`, `objects`: a preloaded object or list of objects.
/// - `nested`: an object that exists only while it is written.
/// - `record`: a value in the record of a user, with the fields of the record that it needs.
/// - `resolver`: a field that is always resolved, and why.
/// - `source`: the source of a field whose resolver is declared elsewhere.
///
/// `@[…]` before a row are the directives of its field.
macro_rules! fields {
    ($(#[$doc:meta])* impl $object:ident, $cached:ident, $charged:expr; $($rows:tt)*) => {
        $crate::graphql::preloaded::fields! { @row [[$(#[$doc])*] $object $cached ($charged)] [] [] [] $($rows)* }
    };
    (@row $head:tt $methods:tt $sources:tt $recorded:tt
        $(#[$doc:meta])* $(@[$($directive:tt)*])? value $name:ident $text:literal: $value:ty = $read:expr;
        $($rest:tt)*
    ) => {
        $crate::graphql::preloaded::fields! { @add $head $methods $sources $recorded [
            $(#[$doc])*
            #[graphql(name = $text $(, $($directive)*)?)]
            pub(in crate::graphql) async fn $name(&self) -> $value {
                let read: fn(&Self) -> $value = $read;
                read(self)
            }
        ] [
            $text => |_| $crate::graphql::preloaded::memory(|object: &Self, json| {
                let read: fn(&Self) -> $value = $read;
                $crate::graphql::preloaded::Leaf::write(read(object), json)
            });
        ] [] $($rest)* }
    };
    (@row $head:tt $methods:tt $sources:tt $recorded:tt
        $(#[$doc:meta])* text $name:ident $text:literal = $read:expr;
        $($rest:tt)*
    ) => {
        $crate::graphql::preloaded::fields! { @add $head $methods $sources $recorded [
            $(#[$doc])*
            #[graphql(name = $text)]
            pub(in crate::graphql) async fn $name(&self) -> Result<&str, $crate::app::error::Error> {
                let read: fn(&Self) -> &str = $read;
                self.scope.text(read(self))
            }
        ] [
            $text => |_| $crate::graphql::preloaded::memory(|object: &Self, json| {
                let read: fn(&Self) -> &str = $read;
                $crate::graphql::preloaded::Leaf::write(read(object), json)
            });
        ] [] $($rest)* }
    };
    (@row $head:tt $methods:tt $sources:tt $recorded:tt
        $(#[$doc:meta])* object $name:ident $text:literal: $node:ty = $read:expr;
        $($rest:tt)*
    ) => {
        $crate::graphql::preloaded::fields! { @add $head $methods $sources $recorded [
            $(#[$doc])*
            #[graphql(name = $text)]
            pub(in crate::graphql) async fn $name(&self) -> $crate::graphql::preloaded::One<'_, $node> {
                let read: fn(&Self) -> &$node = $read;
                $crate::graphql::preloaded::One(read(self))
            }
        ] [
            $text => |field| $crate::graphql::preloaded::object::<Self, $node>(field, $read);
        ] [] $($rest)* }
    };
    (@row $head:tt $methods:tt $sources:tt $recorded:tt
        $(#[$doc:meta])* $(@[$($directive:tt)*])? objects $name:ident $text:literal: $node:ty = $read:expr;
        $($rest:tt)*
    ) => {
        $crate::graphql::preloaded::fields! { @add $head $methods $sources $recorded [
            $(#[$doc])*
            #[graphql(name = $text $(, $($directive)*)?)]
            pub(in crate::graphql) async fn $name(&self) -> $crate::graphql::preloaded::List<'_, $node> {
                let read: fn(&Self) -> Vec<&$node> = $read;
                $crate::graphql::preloaded::List(read(self))
            }
        ] [
            $text => |field| $crate::graphql::preloaded::objects::<Self, $node>(field, $read);
        ] [] $($rest)* }
    };
    (@row $head:tt $methods:tt $sources:tt $recorded:tt
        $(#[$doc:meta])* nested $name:ident $text:literal: $node:ty = $read:expr;
        $($rest:tt)*
    ) => {
        $crate::graphql::preloaded::fields! { @add $head $methods $sources $recorded [
            $(#[$doc])*
            #[graphql(name = $text)]
            pub(in crate::graphql) async fn $name(&self) -> $node {
                let read: fn(&Self) -> $node = $read;
                read(self)
            }
        ] [
            $text => |field| $crate::graphql::preloaded::nested::<Self, $node>(field, $read);
        ] [] $($rest)* }
    };
    (@row $head:tt $methods:tt $sources:tt $recorded:tt
        $(#[$doc:meta])* record $name:ident $text:literal: $value:ty = $needed:expr, $read:expr;
        $($rest:tt)*
    ) => {
        $crate::graphql::preloaded::fields! { @add $head $methods $sources $recorded [
            $(#[$doc])*
            #[graphql(name = $text)]
            pub(in crate::graphql) async fn $name(&self) -> Result<$value, $crate::app::error::Error> {
                self.resolve_recorded::<$value>($needed, $read).await
            }
        ] [
            $text => |field| Self::recorded::<$value>(field, $read);
        ] [
            ($text, $needed),
        ] $($rest)* }
    };
    (@row $head:tt $methods:tt $sources:tt $recorded:tt
        resolver $reason:literal $(reading $text:literal = $needed:expr,)? { $($method:tt)* }
        $($rest:tt)*
    ) => {
        $crate::graphql::preloaded::fields! { @add $head $methods $sources $recorded
            [$($method)*] [] [$(($text, $needed),)?] $($rest)* }
    };
    (@row $head:tt $methods:tt $sources:tt $recorded:tt source $text:literal = $source:expr; $($rest:tt)*) => {
        $crate::graphql::preloaded::fields! { @add $head $methods $sources $recorded
            [] [$text => $source;] [] $($rest)* }
    };
    (@add $head:tt [$($methods:tt)*] [$($sources:tt)*] [$($recorded:tt)*]
        [$($method:tt)*] [$($source:tt)*] [$($read:tt)*] $($rest:tt)*
    ) => {
        $crate::graphql::preloaded::fields! { @row $head
            [$($methods)* $($method)*] [$($sources)* $($source)*] [$($recorded)* $($read)*] $($rest)* }
    };
    (@row [[$($doc:tt)*] $object:ident $cached:ident ($charged:expr)]
        [$($methods:tt)*] [$($text:literal => $source:expr;)*] [$($recorded:tt)*]
    ) => {
        $($doc)*
        #[async_graphql::Object(
            directive = $crate::graphql::directive::cache_control::apply(
                $crate::graphql::directive::CacheControlScope::$cached
            )
        )]
        impl $object {
            $($methods)*
        }

        impl $crate::graphql::preloaded::Preloaded for $object {
            fn source(
                field: &async_graphql::parser::types::Field,
            ) -> $crate::graphql::preloaded::Source<'_, Self> {
                match field.name.node.as_str() {
                    $($text => {
                        let source: fn(&async_graphql::parser::types::Field)
                            -> $crate::graphql::preloaded::Source<'_, Self> = $source;
                        source(field)
                    })*
                    _ => $crate::graphql::preloaded::Source::Resolver,
                }
            }

            fn scope(&self) -> Option<&std::sync::Arc<$crate::graphql::context::Scope>> {
                let scope: fn(&Self) -> Option<&std::sync::Arc<$crate::graphql::context::Scope>> = $charged;
                scope(self)
            }
        }

        $crate::graphql::preloaded::fields! { @recorded $object [$($recorded)*] }
    };
    (@recorded $object:ident []) => {};
    (@recorded $object:ident [$(($text:literal, $needed:expr),)*]) => {
        impl $object {
            /// The fields that are read from the record, each with what it needs of it.
            pub(in crate::graphql) const RECORDED: &[(&str, $crate::model::user::UserFields)] =
                &[$(($text, $needed)),*];
        }
    };
}
pub(in crate::graphql) use fields;
