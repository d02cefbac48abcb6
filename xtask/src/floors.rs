//! The floors: which crate may use which, of ours and of others, over what each declares. Reads `cargo metadata`, so a
//! feature that another crate switches on in the same build changes nothing here.
//!
//! Invariant: the service cannot name the crate that opens ciphertext. `collie-broker` and `collie-store` do not list
//! `seal`; what the broker opens, it opens through `collie-vault`, which knows only `cloud_proxy`.

use serde_json::Value;

/// For each member, the members it may use. A member that is not here fails.
const FLOORS: &[(&str, &[&str])] = &[
    // 0
    ("collie-contract", &[]),
    // 1
    ("collie-sign", &["collie-contract"]),
    ("collie-seal", &["collie-contract", "collie-sign"]),
    ("collie-authority", &["collie-contract", "collie-sign"]),
    ("collie-egress", &["collie-contract", "collie-sign"]),
    // 2
    ("collie-store", &["collie-contract"]),
    ("collie-upstream", &["collie-contract", "collie-sign", "collie-egress"]),
    ("collie-kms", &["collie-contract", "collie-sign", "collie-seal", "collie-egress"]),
    // 3
    (
        "collie-vault",
        &["collie-contract", "collie-sign", "collie-seal", "collie-authority", "collie-store", "collie-kms"],
    ),
    // 4
    (
        "collie-broker",
        &[
            "collie-contract",
            "collie-sign",
            "collie-authority",
            "collie-store",
            "collie-egress",
            "collie-upstream",
            "collie-kms",
            "collie-vault",
        ],
    ),
    (
        "collie-client",
        &["collie-contract", "collie-sign", "collie-seal", "collie-authority", "collie-egress", "collie-upstream"],
    ),
    // 5: the suites use everything; the lab and xtask nothing of ours, so that our bugs cannot hide each other.
    (
        "collie-tests",
        &[
            "collie-contract",
            "collie-sign",
            "collie-seal",
            "collie-authority",
            "collie-egress",
            "collie-store",
            "collie-upstream",
            "collie-kms",
            "collie-vault",
            "collie-broker",
            "collie-client",
            "collie-lab",
        ],
    ),
    ("collie-lab", &[]),
    ("xtask", &[]),
];

/// Members that the fences around other people's crates do not concern. Nor do they concern what only a member's own
/// tests use: it is in no product.
const UNFENCED: &[&str] = &["collie-tests", LAB];

/// The hostile server: any member's own tests may run against it.
const LAB: &str = "collie-lab";

/// A kind of crate of others, and the members that may declare one.
struct Fence {
    what: &'static str,
    crates: &'static [&'static str],
    members: &'static [&'static str],
}

const FENCES: &[Fence] = &[
    Fence {
        what: "SQL",
        crates: &[
            "sqlx",
            "sqlx-core",
            "sqlx-sqlite",
            "sqlx-postgres",
            "rusqlite",
            "libsqlite3-sys",
            "tokio-postgres",
            "postgres",
        ],
        members: &["collie-store", "collie-client"],
    },
    Fence {
        what: "ciphers",
        crates: &[
            "chacha20poly1305",
            "aes-gcm",
            "aes-gcm-siv",
            "chacha20",
            "aes",
            "aes-siv",
            "aes-kw",
            "crypto_box",
            "crypto_secretbox",
            "age",
            "hpke",
            "ml-kem",
            "x25519-dalek",
        ],
        members: &["collie-seal", "collie-kms"],
    },
    Fence {
        what: "signatures",
        crates: &["ed25519-dalek", "ed25519", "p256", "k256", "ecdsa", "rsa"],
        members: &["collie-sign"],
    },
    Fence {
        what: "message authentication",
        crates: &["hmac", "hkdf"],
        members: &["collie-sign", "collie-seal", "collie-kms", "collie-vault"],
    },
    Fence {
        what: "HTTP clients",
        crates: &["reqwest", "hyper-rustls", "ureq", "isahc", "surf", "attohttpc", "minreq", "curl", "awc"],
        members: &["collie-egress"],
    },
    Fence { what: "HTTP by hand", crates: &["hyper", "hyper-util"], members: &["collie-egress", "collie-broker"] },
    Fence {
        what: "HTTP servers",
        crates: &[
            "axum",
            "axum-core",
            "axum-extra",
            "axum-server",
            "tower_governor",
            "warp",
            "actix-web",
            "rocket",
            "poem",
        ],
        members: &["collie-broker", "collie-client"],
    },
    Fence { what: "certificate making", crates: &["rcgen"], members: &["collie-broker"] },
    Fence { what: "OAuth", crates: &["oauth2", "openidconnect"], members: &["collie-upstream"] },
    Fence {
        what: "randomness",
        crates: &["getrandom", "rand", "rand_core", "fastrand", "uuid"],
        members: &["collie-broker", "collie-client"],
    },
    Fence {
        what: "the runtime (input and output)",
        crates: &["tokio", "async-std", "smol", "mio", "socket2"],
        members: &[
            "collie-egress",
            "collie-store",
            "collie-upstream",
            "collie-vault",
            "collie-broker",
            "collie-client",
        ],
    },
    Fence {
        what: "a second TLS or crypto stack",
        crates: &["ring", "openssl", "native-tls", "aws-lc-rs"],
        members: &[],
    },
];

/// Features of one crate that only some members may declare.
struct Feature {
    krate: &'static str,
    features: &'static [&'static str],
    members: &'static [&'static str],
}

const FEATURES: &[Feature] = &[
    // The device's ledger is SQLite only; PostgreSQL is the service's.
    Feature { krate: "sqlx", features: &["postgres"], members: &["collie-store"] },
    // `sqlite` adds loadable extensions, `any` loses types, `tls-rustls` and `tls-native-tls` bring a second crypto stack.
    Feature {
        krate: "sqlx",
        features: &["default", "sqlite", "any", "mysql", "tls-rustls", "tls-rustls-ring", "tls-native-tls"],
        members: &[],
    },
    Feature { krate: "hyper", features: &["default", "client", "full"], members: &["collie-egress"] },
    Feature {
        krate: "hyper-util",
        features: &["default", "client", "client-legacy", "client-pool", "client-proxy", "full"],
        members: &["collie-egress"],
    },
];

/// What in the workspace breaks a floor or a fence. `metadata` is `cargo metadata --no-deps --format-version 1`.
pub(crate) fn broken(metadata: &Value) -> Vec<String> {
    let packages = list(metadata, "packages");
    let members: Vec<&str> = packages.iter().map(|package| text(package, "name")).collect();
    let mut broken = Vec::new();
    if members.is_empty() {
        broken.push("cargo metadata names no package".to_owned());
    }
    for package in packages {
        let name = text(package, "name");
        let Some((_, allowed)) = FLOORS.iter().find(|(member, _)| *member == name) else {
            broken.push(format!(
                "`{name}` has no floor: add it to FLOORS in xtask/src/floors.rs, with a reason in ARCHITECTURE.md"
            ));
            continue;
        };
        for dependency in list(package, "dependencies") {
            let used = text(dependency, "name");
            let for_tests = text(dependency, "kind") == "dev";
            if members.contains(&used) || used.starts_with("collie-") {
                if !(allowed.contains(&used) || for_tests && used == LAB && name != LAB) {
                    broken.push(format!("`{name}` may not use `{used}`"));
                }
                continue;
            }
            broken.extend(broken_by_foreign(name, used, dependency, for_tests || UNFENCED.contains(&name)));
        }
    }
    broken
}

/// What is wrong with one declared dependency on somebody else's crate.
fn broken_by_foreign(name: &str, used: &str, dependency: &Value, unfenced: bool) -> Vec<String> {
    let mut broken = Vec::new();
    if !text(dependency, "req").starts_with('=') {
        broken.push(format!(
            "`{name}` takes any of several versions of `{used}`: pin it with `=` in the workspace's Cargo.toml"
        ));
    }
    let source = text(dependency, "source");
    if source != "registry+https://github.com/rust-lang/crates.io-index" {
        broken.push(format!("`{name}` takes `{used}` from `{source}`: only crates.io may be used"));
    }
    if unfenced {
        return broken;
    }
    for fence in FENCES.iter().filter(|fence| fence.crates.contains(&used)) {
        if !fence.members.contains(&name) {
            broken.push(format!("`{name}` may not use `{used}`: {} is for {}", fence.what, names(fence.members)));
        }
    }
    let defaults = dependency.get("uses_default_features").and_then(Value::as_bool).unwrap_or(true);
    let declared = list(dependency, "features").iter().filter_map(Value::as_str);
    let declared: Vec<&str> = declared.chain(defaults.then_some("default")).collect();
    for rule in FEATURES.iter().filter(|rule| rule.krate == used && !rule.members.contains(&name)) {
        for feature in rule.features.iter().filter(|feature| declared.contains(feature)) {
            broken.push(format!("`{name}` may not use `{used}` with `{feature}`: that is for {}", names(rule.members)));
        }
    }
    broken
}

fn names(members: &[&str]) -> String {
    if members.is_empty() { "nobody".to_owned() } else { members.join(", ") }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

    fn ours(name: &str) -> Value {
        json!({ "name": name, "req": "*", "source": null, "features": [], "uses_default_features": true })
    }

    fn foreign(name: &str, features: &[&str]) -> Value {
        json!({ "name": name, "req": "=1.0.0", "source": CRATES_IO, "features": features, "uses_default_features": false })
    }

    fn workspace(name: &str, dependencies: &[Value]) -> Value {
        json!({ "packages": [{ "name": name, "dependencies": dependencies }] })
    }

    fn refusal(name: &str, dependency: Value) -> String {
        let broken = broken(&workspace(name, &[dependency]));
        assert_eq!(broken.len(), 1, "{broken:?}");
        broken.into_iter().next().unwrap_or_default()
    }

    #[test]
    fn what_the_table_allows_passes() {
        for (name, allowed) in FLOORS {
            let dependencies: Vec<Value> = allowed.iter().map(|used| ours(used)).collect();
            assert_eq!(broken(&workspace(name, &dependencies)), Vec::<String>::new());
        }
        let store = [foreign("sqlx", &["sqlite-bundled", "postgres", "tls-rustls-aws-lc-rs"]), foreign("tokio", &[])];
        assert_eq!(broken(&workspace("collie-store", &store)), Vec::<String>::new());
        let broker = [foreign("hyper", &["server", "http1"]), foreign("axum", &[]), foreign("rcgen", &[])];
        assert_eq!(broken(&workspace("collie-broker", &broker)), Vec::<String>::new());
        let tests = [foreign("sqlx", &["postgres"]), foreign("rmcp", &[]), foreign("hyper", &["client"])];
        assert_eq!(broken(&workspace("collie-tests", &tests)), Vec::<String>::new());
    }

    #[test]
    fn each_broken_floor_is_refused() {
        let planted = [
            ("collie-broker", "collie-seal"),
            ("collie-store", "collie-seal"),
            ("collie-store", "collie-sign"),
            ("collie-store", "collie-vault"),
            ("collie-kms", "collie-store"),
            ("collie-vault", "collie-egress"),
            ("collie-vault", "collie-upstream"),
            ("collie-client", "collie-vault"),
            ("collie-client", "collie-kms"),
            ("collie-contract", "collie-sign"),
            ("collie-sign", "collie-seal"),
            ("collie-authority", "collie-store"),
            ("collie-client", "collie-store"),
            ("collie-client", "collie-broker"),
            ("collie-upstream", "collie-store"),
            ("collie-lab", "collie-contract"),
            ("xtask", "collie-contract"),
            ("collie-seal", "collie-not-in-the-workspace"),
        ];
        for (name, used) in planted {
            assert_eq!(refusal(name, ours(used)), format!("`{name}` may not use `{used}`"));
        }
    }

    #[test]
    fn dependencies_of_tests_and_build_scripts_count() {
        for kind in ["dev", "build"] {
            let mut dependency = ours("collie-seal");
            dependency["kind"] = json!(kind);
            dependency["optional"] = json!(true);
            assert_eq!(refusal("collie-broker", dependency), "`collie-broker` may not use `collie-seal`");
        }
    }

    #[test]
    fn tests_may_use_the_lab_and_any_crate_of_others() {
        let for_tests = |mut dependency: Value| {
            dependency["kind"] = json!("dev");
            dependency
        };
        let tests = [for_tests(ours(LAB)), for_tests(foreign("rcgen", &[])), for_tests(foreign("tokio", &["full"]))];
        assert_eq!(broken(&workspace("collie-seal", &tests)), Vec::<String>::new());
        assert_eq!(refusal("collie-seal", ours(LAB)), "`collie-seal` may not use `collie-lab`");
        assert!(refusal("collie-seal", foreign("rcgen", &[])).contains("certificate making"));
        assert!(refusal("collie-lab", for_tests(ours("collie-contract"))).contains("may not use"));
    }

    #[test]
    fn a_new_name_for_a_crate_hides_nothing() {
        let mut dependency = ours("collie-seal");
        dependency["rename"] = json!("harmless");
        assert_eq!(refusal("collie-store", dependency), "`collie-store` may not use `collie-seal`");
    }

    #[test]
    fn a_crate_without_a_floor_fails() {
        let broken = broken(&workspace("collie-new", &[]));
        assert!(broken.iter().any(|line| line.starts_with("`collie-new` has no floor")), "{broken:?}");
        assert!(!self::broken(&json!({})).is_empty(), "no packages at all is not a pass");
    }

    #[test]
    fn each_broken_fence_is_refused() {
        let planted = [
            ("collie-broker", "sqlx"),
            ("collie-upstream", "sqlx"),
            ("collie-broker", "chacha20poly1305"),
            ("collie-client", "aes-gcm"),
            ("collie-sign", "aes-gcm"),
            ("collie-vault", "chacha20poly1305"),
            ("collie-vault", "sqlx"),
            ("collie-kms", "getrandom"),
            ("collie-client", "ed25519-dalek"),
            ("collie-broker", "hmac"),
            ("collie-upstream", "hyper"),
            ("collie-client", "hyper-util"),
            ("collie-client", "reqwest"),
            ("collie-upstream", "axum"),
            ("collie-client", "rcgen"),
            ("collie-broker", "oauth2"),
            ("collie-seal", "getrandom"),
            ("collie-contract", "tokio"),
            ("collie-egress", "ring"),
            ("collie-broker", "openssl"),
        ];
        for (name, used) in planted {
            let said = refusal(name, foreign(used, &[]));
            assert!(said.starts_with(&format!("`{name}` may not use `{used}`: ")), "{said}");
        }
    }

    #[test]
    fn each_broken_feature_is_refused() {
        let planted = [
            ("collie-client", "sqlx", "postgres"),
            ("collie-client", "sqlx", "sqlite"),
            ("collie-store", "sqlx", "any"),
            ("collie-store", "sqlx", "tls-rustls"),
            ("collie-broker", "hyper", "client"),
            ("collie-broker", "hyper-util", "client-legacy"),
        ];
        for (name, used, feature) in planted {
            let said = refusal(name, foreign(used, &[feature]));
            assert!(said.starts_with(&format!("`{name}` may not use `{used}` with `{feature}`")), "{said}");
        }
        let mut dependency = foreign("sqlx", &["sqlite-bundled"]);
        dependency["uses_default_features"] = json!(true);
        assert!(refusal("collie-store", dependency).contains("with `default`"));
    }

    #[test]
    fn versions_are_pinned_and_come_from_crates_io() {
        let mut dependency = foreign("serde", &[]);
        dependency["req"] = json!("^1");
        assert!(refusal("collie-tests", dependency).contains("pin it"));
        let mut dependency = foreign("serde", &[]);
        dependency["source"] = json!("git+https://example.org/serde");
        assert!(refusal("collie-contract", dependency).contains("only crates.io"));
    }

    #[test]
    fn this_workspace_keeps_its_floors() {
        let repo = crate::process::Repo::find().expect("a checkout");
        assert_eq!(broken(&repo.metadata), Vec::<String>::new());
        let members = list(&repo.metadata, "packages").len();
        assert_eq!(members, FLOORS.len(), "FLOORS lists a crate that is not in the workspace");
    }
}
