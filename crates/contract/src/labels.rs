//! Every label that reaches a hash, a key derivation or a signature: versioned, never reused; retired ones stay listed.

/// Start of the digest of a server's instructions (2.h).
pub const INSTRUCTIONS: &[u8] = b"collie.instructions.v2\0";
/// Start of a raw manifest's digest (2.h).
pub const MANIFEST: &[u8] = b"collie.manifest.v2\0";
/// Start of a tool's digest (2.h).
pub const TOOL: &[u8] = b"collie.tool.v2\0";
