//! A row of the table of keys, and the macro that builds the table, with a method of [`Keys`](super::Keys) for each.

/// A row of the table of keys.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The method of [`Keys`](super::Keys) that builds the key.
    pub method: &'static str,
    /// The arguments of the method, beside those of the tag.
    pub arguments: &'static [&'static str],
    /// An example of the name, for user 7 or post 9.
    pub name: &'static str,
    /// The variant of [`Tag`](super::Tag).
    pub tag: &'static str,
    /// The marker type of the kind, such as [`SortedSet`](super::SortedSet).
    pub kind: &'static str,
    /// The command that counts its elements.
    pub count: &'static str,
    /// The number of elements that are no items.
    pub seals: u64,
    /// The ends of the names of the keys that are its parts, without those of shards.
    pub parts: &'static [&'static str],
    /// What the key holds.
    pub holds: &'static str,
    /// How the key is bounded, checked, measured, exported and erased.
    pub facts: &'static [Fact],
}

impl Row {
    /// Returns true if the key is in the slot of a user.
    #[must_use]
    pub fn is_of_user(&self) -> bool {
        self.tag == "User"
    }

    /// Returns true if this is a channel, which holds nothing.
    #[must_use]
    pub fn is_channel(&self) -> bool {
        self.kind == "Channel"
    }

    /// Returns true if this is a compact set, ordered or not, which has shards.
    #[must_use]
    pub fn is_compact_set(&self) -> bool {
        self.parts.len() > 1
    }

    /// Returns true if this is an ordered compact set.
    #[must_use]
    pub fn is_ordered_set(&self) -> bool {
        self.kind == "OrderedSet"
    }

    /// Returns the items of which `fanfold memory` measures the key, in the singular.
    pub fn footprints(&self) -> impl Iterator<Item = &'static str> {
        self.facts
            .iter()
            .filter_map(|fact| if let Fact::Footprint(items) = fact { Some(*items) } else { None })
    }

    /// Returns true if the row says why an erasure does not delete the key with the others of the user.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.facts.iter().any(|fact| matches!(fact, Fact::Kept(_)))
    }
}

/// How a key is bounded, checked, measured, exported or erased.
///
/// Each key but a channel has a bound, the first of these that applies: [`Fixed`](Self::Fixed), [`Limit`](Self::Limit),
/// [`Expiry`](Self::Expiry) or [`Deletion`](Self::Deletion). Unless it expires, the row also says what `fanfold check`
/// finds, or why there is nothing to find. If it may grow for long, it says which items `fanfold memory` measures in
/// it, or why none. Unless it expires or is derived, a key in a user's slot also says whether exports have what it
/// holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The size does not grow.
    Fixed,
    /// It does not grow beyond the value of this option, or beyond this number of elements: the number, and a noun.
    /// `docs/security.md` lists it, unless the key is derived.
    Limit(&'static str),
    /// The key expires after this time.
    Expiry(&'static str),
    /// What it holds is deleted then.
    Deletion(&'static str),
    /// `fanfold check` compares the key with others, and finds this, as it prints it.
    Check(&'static str),
    /// Not checked: there is no second place that could differ.
    Sole,
    /// Not checked: a setting or a counter.
    Setting,
    /// Not checked: derived, and rebuilt when it is missing.
    Derived,
    /// Not checked: work in progress, which another process takes over.
    Resumed,
    /// Not checked, for this reason.
    Unchecked(&'static str),
    /// The items of which `fanfold memory` measures the key, in the singular.
    Footprint(&'static str),
    /// `fanfold memory` does not measure the key, for this reason.
    Unmeasured(&'static str),
    /// An export of the account has what the key holds in its records of this type.
    Export(&'static str),
    /// An export of the account does not have what the key holds, for this reason.
    Unexported(&'static str),
    /// The erasure of a user does not delete the key with the others of the user's slot, for this reason.
    Kept(&'static str),
}

/// Returns the part of a key's name after the tag.
pub(super) const fn noun(name: &str) -> &str {
    let mut at = 0;
    while name.as_bytes()[at] != b'}' {
        at += 1;
    }
    name.split_at(at + "}:".len()).1
}

/// Builds the table of keys, by tag. A tag has the arguments that the methods of all its keys begin with. A row has:
///
/// - what the key holds, which is the documentation of its method;
/// - the method, with its further arguments, and the kind of the key;
/// - an example of the name; if it depends on the further arguments, `as` the format of the part after the tag; or
///   `by`, the method that builds the key, if it has another shape;
/// - the [`Fact`]s.
///
/// The examples have the arguments of `samples`, by name, and are the test of the format.
macro_rules! keys {
    ($(in $tag:ident $of:tt {
        $(
            $(#[doc = $holds:literal])+
            $method:ident($($argument:ident: $type:ty),*) -> $kind:ident = $name:literal
                $(as ($($noun:tt)+))? $(by $builder:ident)? $(, $fact:ident $(($text:literal))?)*;
        )+
    })+) => {
        $(
            #[doc = concat!("Keys with a [`Tag::", stringify!($tag), "`].")]
            impl Keys {
                $(keys! { @method
                    $(#[doc = $holds])+
                    #[doc = ""]
                    #[doc = concat!("`", $name, "`" $(, " · ", stringify!($fact) $(, ": ", $text)?)*)]
                    $tag $of $method($($argument: $type),*) -> $kind
                    = $name $(as ($($noun)+))? $(by $builder)?
                })+
            }
        )+

        /// The table of keys.
        pub static KEYS: &[Row] = &[$($(
            Row {
                method: stringify!($method),
                arguments: &[$(stringify!($argument)),*],
                name: $name,
                tag: stringify!($tag),
                kind: stringify!($kind),
                count: <$kind as Kind>::COUNT,
                seals: <$kind as Kind>::SEALS,
                parts: <$kind as Kind>::PARTS,
                holds: concat!($($holds, "\n"),+),
                facts: &[$(Fact::$fact $(($text))?),*],
            },
        )+)+];

        /// Returns the examples of names, each with the name of the key for these arguments.
        #[cfg(test)]
        fn examples(keys: &Keys) -> Vec<(&'static str, String)> {
            vec![$($(($name, keys! { @example keys $of $method $($argument)* }),)+)+]
        }
    };

    (@method $(#[$doc:meta])+ $tag:ident ($($of:ident: $of_type:ty),*)
        $method:ident($($argument:ident: $type:ty),*) -> $kind:ident $($name:tt)+) => {
        $(#[$doc])+
        #[must_use]
        pub fn $method(&self, $($of: $of_type,)* $($argument: $type),*) -> Key<$kind> {
            keys!(@key self, Tag::$tag, ($($of),*), ($($argument),*) $($name)+)
        }
    };
    (@key $keys:expr, $tag:expr, ($($of:ident),*), ($($argument:ident),*) = $name:literal by $builder:ident) => {
        $keys.$builder($($of,)* $($argument),*)
    };
    (@key $keys:expr, $tag:expr, ($($of:ident),*), $arguments:tt = $name:literal $(as $noun:tt)?) => {
        $keys.key(keys!(@tag $tag $(, $of)*), keys!(@noun $name $($noun)?))
    };
    (@tag $tag:expr) => { $tag };
    (@tag $tag:expr $(, $of:ident)+) => { $tag($($of),+) };
    (@noun $name:literal) => { const { noun($name) } };
    (@noun $name:literal ($($noun:tt)+)) => { &format!($($noun)+) };
    (@example $keys:ident ($($of:ident: $of_type:ty),*) $method:ident $($argument:ident)*) => {
        $keys.$method($(samples::$of(),)* $(samples::$argument()),*).name().to_owned()
    };
}
pub(super) use keys;
