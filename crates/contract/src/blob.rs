//! CLV2 object types, CTX tags, domains and the table of required tags (2.a.2, 2.a.3).
