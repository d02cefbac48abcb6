//! A value that must not be seen: wiped on drop, and without any way to print, copy, compare or serialize it by accident. Never gives the value away, it only lets a closure look.

use secrecy::{ExposeSecret as _, SecretBox};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroize;

/// A secret value. Looking at it takes a closure, so every look stands in the source with a line that says to whom.
///
/// ```
/// let token = collie_sign::Secret::new(String::from("s3cret"));
/// assert_eq!(token.with(|text| text.len()), 6);
/// ```
///
/// It has no `Debug`, so it cannot reach a log:
///
/// ```
/// let token = collie_sign::Secret::new([1_u8; 32]);
/// let shown = token.with(|_| format!("{:?}", "a token"));
/// # let _ = shown;
/// ```
/// ```compile_fail
/// let token = collie_sign::Secret::new([1_u8; 32]);
/// let shown = token.with(|_| format!("{:?}", token));
/// # let _ = shown;
/// ```
///
/// No `Display`:
///
/// ```
/// let token = collie_sign::Secret::new(String::from("s3cret"));
/// let shown = token.with(|_| format!("{}", "a token"));
/// # let _ = shown;
/// ```
/// ```compile_fail
/// let token = collie_sign::Secret::new(String::from("s3cret"));
/// let shown = token.with(|_| format!("{}", token));
/// # let _ = shown;
/// ```
///
/// No `Clone`, so there is one place to wipe:
///
/// ```
/// let token = collie_sign::Secret::new([1_u8; 32]);
/// let moved: collie_sign::Secret<[u8; 32]> = token;
/// # let _ = moved;
/// ```
/// ```compile_fail
/// let token = collie_sign::Secret::new([1_u8; 32]);
/// let moved: collie_sign::Secret<[u8; 32]> = token.clone();
/// # let _ = moved;
/// ```
///
/// No `Serialize`, so no body and no event can hold it:
///
/// ```
/// fn body<T: serde::Serialize>(_: &T) {}
/// let token = collie_sign::Secret::new(String::from("s3cret"));
/// token.with(|_| body(&"a token"));
/// ```
/// ```compile_fail
/// fn body<T: serde::Serialize>(_: &T) {}
/// let token = collie_sign::Secret::new(String::from("s3cret"));
/// token.with(|_| body(&token));
/// ```
///
/// No `PartialEq`, because `==` stops at the first different byte:
///
/// ```
/// let (one, two) = (collie_sign::Secret::new([1_u8; 32]), collie_sign::Secret::new([1_u8; 32]));
/// assert!(one.is_same(&two));
/// ```
/// ```compile_fail
/// let (one, two) = (collie_sign::Secret::new([1_u8; 32]), collie_sign::Secret::new([1_u8; 32]));
/// assert!(one == two);
/// ```
pub struct Secret<T: Zeroize>(SecretBox<T>);

impl<T: Zeroize> Secret<T> {
    /// Takes a value into custody.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(SecretBox::new(Box::new(value)))
    }

    /// Lets `look` see the value. Each use says in an `// EXPOSE:` line to whom.
    pub fn with<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(self.0.expose_secret())
    }
}

impl<T: Zeroize + Default> Secret<T> {
    /// Lets `fill` write the value where it will stay, so that no copy is left on the stack.
    #[must_use]
    pub fn init(fill: impl FnOnce(&mut T)) -> Self {
        Self(SecretBox::init_with_mut(fill))
    }
}

impl<T: Zeroize + AsRef<[u8]>> Secret<T> {
    /// Compares two secrets in a time that depends only on their lengths.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        // EXPOSE: to the constant-time comparison, which keeps nothing.
        self.with(|mine| other.with(|theirs| mine.as_ref().ct_eq(theirs.as_ref()).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_sees_every_byte_and_the_length() {
        let secret = |bytes: &[u8]| Secret::new(bytes.to_vec());
        assert!(secret(b"abc").is_same(&secret(b"abc")));
        for other in [&b"abd"[..], b"bbc", b"ab", b"abcd", b""] {
            assert!(!secret(b"abc").is_same(&secret(other)));
        }
        let filled = Secret::<[u8; 32]>::init(|bytes| bytes.fill(7));
        assert!(filled.is_same(&Secret::new([7; 32])));
    }
}
