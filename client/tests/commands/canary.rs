//! No command but `key-export` prints a secret of the device, in whatever form.

use crate::machine::Machine;
use crate::service::Service;
use contract::{b64u, digest};

#[tokio::test]
async fn no_output_holds_a_secret() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let mut secrets = seed_texts(&machine);
    secrets.push("device-code-canary".to_owned());
    let sealing = seal::UserSealingKey::new(1, sign::Secret::new([0xa7; 32])).expect("a key");
    let _ = machine.folder().store_sealing_key(&sealing).expect("stores");
    secrets.extend([b64u::encode([0xa7; 32]), digest::hex(&[0xa7; 32])]);

    let mut shown = String::new();
    for command in [
        &["status", "--check"][..],
        &["whoami"],
        &["devices"],
        &["doctor"],
        &["login"],
        &["login", "--replace"],
        &["key-export"],
        &["key-import"],
        &["device-approve", "AAAA-AAAA"],
        &["device-revoke", "dev_x", "--yes"],
        &["logout", "--forget-mirror"],
        &["status"],
    ] {
        for json in [&[][..], &["--json"]] {
            shown.push_str(&machine.run(&[command, json].concat()).await.all());
        }
    }
    secrets.extend(service.world().tokens.clone());
    assert!(secrets.len() > 6 && shown.len() > 1000);
    for secret in &secrets {
        assert!(!shown.contains(secret.as_str()), "{secret}");
    }
}

fn seed_texts(machine: &Machine) -> Vec<String> {
    let seed = machine.folder().device_key().expect("a key").expose_seed_for_key_file();
    seed.with(|seed| vec![b64u::encode(seed), digest::hex(seed)])
}
