//! Tests of the file of the same name; nothing here is product code.
