//! Tests of one call; nothing here is product code.
