use collie_tests::processes::{Binaries, Device, Service, ServiceOptions};
#[test]
fn smoke() {
    let b = Binaries::find().expect("bins");
    let dir = tempfile::tempdir().expect("x");
    let s = Service::start(&b, ServiceOptions::in_folder(&dir.path().join("service"))).expect("start");
    let mut browser = s.sign_in().expect("signs in");
    let d = Device::new(&b, "laptop", &dir.path().join("laptop")).expect("device");
    let f = d.pair(s.origin(), &mut browser).expect("pairs");
    println!("{}", f.out());
    println!("{:#}", d.data(&["whoami"]).expect("whoami"));
    println!("{:#}", d.data(&["devices"]).expect("devices"));
    println!("{:?}", d.refusal(&["connections"]));
}
