//! What changes a manifest and what only writes it differently, measured by an own canonical form.

use crate::support::{canonical_manifest, lab, modern};
use collie_lab::{Arrangement, Duplicates, Fault, FaultRule, ManifestChange, Pages};
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[tokio::test]
async fn every_change_is_one_and_every_arrangement_is_none() {
    let lab = lab(|_| ()).await;
    let plain = canonical_manifest(&lab).await;
    let first_page = modern(&lab, "tools/list", json!({})).send().await.body;
    for change in ManifestChange::ALL {
        lab.switch(|switches| switches.changes = BTreeSet::from([change]));
        assert_ne!(canonical_manifest(&lab).await, plain, "{change:?}");
    }
    lab.switch(|switches| switches.changes.clear());
    for arrangement in Arrangement::ALL {
        lab.switch(|switches| switches.arrange = BTreeSet::from([arrangement]));
        assert_eq!(canonical_manifest(&lab).await, plain, "{arrangement:?}");
        // The control: it is not the same bytes.
        assert_ne!(modern(&lab, "tools/list", json!({})).send().await.body, first_page, "{arrangement:?}");
    }
    lab.switch(|switches| switches.arrange = BTreeSet::from(Arrangement::ALL));
    assert_eq!(canonical_manifest(&lab).await, plain);
    lab.switch(|switches| (switches.ttl_ms, switches.page_size) = (1, 100));
    assert_eq!(canonical_manifest(&lab).await, plain);
}

#[tokio::test]
async fn hidden_characters_appear_when_switched() {
    let lab = lab(|switches| (switches.hidden_characters, switches.page_size) = (true, 100)).await;
    let listed = modern(&lab, "tools/list", json!({})).send().await.json();
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let save = tools.iter().find(|tool| tool["name"] == "save_note").expect("listed");
    for hidden in ['\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{e0041}'] {
        assert!(save["description"].as_str().expect("a text").contains(hidden), "{hidden:?}");
    }
}

async fn pages(lab: &collie_lab::Lab, most: usize) -> Vec<Value> {
    let (mut pages, mut params) = (Vec::new(), json!({}));
    while pages.len() < most {
        let page = modern(lab, "tools/list", params).send().await.json()["result"].clone();
        let next = page["nextCursor"].clone();
        pages.push(page);
        if next.is_null() {
            break;
        }
        params = json!({"cursor": next});
    }
    pages
}

fn names(pages: &[Value]) -> Vec<String> {
    let tools = pages.iter().flat_map(|page| page["tools"].as_array().expect("a list").iter());
    tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn names_come_twice_when_switched() {
    let lab = lab(|switches| switches.duplicates = Duplicates::Same).await;
    let listed = names(&pages(&lab, 99).await);
    assert_eq!((listed[0].as_str(), listed[1].as_str()), ("list_notes", "list_notes"));
    lab.switch(|switches| switches.duplicates = Duplicates::AcrossPages);
    let all = pages(&lab, 99).await;
    assert_eq!(names(&all[..1])[0], "list_notes");
    assert_eq!(names(&all[all.len() - 1..]).last().map(String::as_str), Some("list_notes"));
}

#[tokio::test]
async fn pages_never_end_when_switched() {
    let lab = lab(|_| ()).await;
    assert_eq!(pages(&lab, 40).await.len(), 3);
    lab.switch(|switches| switches.pages = Pages::Endless);
    let endless = pages(&lab, 40).await;
    assert_eq!(endless.len(), 40);
    let listed = names(&endless);
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len(), "each page has a new tool");
    lab.switch(|switches| switches.pages = Pages::EndlessEmpty);
    let empty = pages(&lab, 40).await;
    assert_eq!((empty.len(), names(&empty).len()), (40, 9));
    lab.switch(|switches| switches.pages = Pages::Looping);
    let looping = pages(&lab, 40).await;
    assert_eq!(looping.len(), 40);
    assert_eq!(looping[3]["tools"], looping[0]["tools"]);
}

#[tokio::test]
async fn a_change_can_strike_in_the_middle_of_a_listing() {
    let lab = lab(|_| ()).await;
    let set = json!({"changes": ["instructions", "number"], "pages": "endless"});
    let Value::Object(set) = set else { unreachable!("it is written as an object") };
    lab.fault(FaultRule::new(Fault::Change { set }).on_method("tools/list").after(1).times(1)).expect("armed");
    let before = modern(&lab, "server/discover", json!({})).send().await.json();
    assert_eq!(pages(&lab, 40).await.len(), 40, "the second page already has a cursor for ever");
    let after = modern(&lab, "server/discover", json!({})).send().await.json();
    assert_ne!(before["result"]["instructions"], after["result"]["instructions"]);
}
