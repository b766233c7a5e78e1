//! Laws of the API's bounds: what is too large, too many or no sense at all is refused, and the driver goes on.

use std::{io::Write as _, time::Instant};

use driver::view::Edit;

use crate::{
    http::{connect, exchange, get, post},
    stand::{Stand, counts, eventually},
    world::BOUND,
};

/// What is too large is refused by its own status.
#[test]
fn what_is_too_large_is_refused() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 1)]);
    run.client();
    let socket = stand.paths().socket();
    let long = format!("{{\"edit\":\"{}\"}}", "a".repeat(9 << 20));
    let answer = post(&socket, "/v1/plan", &long);
    assert_eq!((answer.status, answer.json()["kind"].clone()), (413, "invalid".into()));
    let header = format!("x: {}\r\n", "b".repeat(1 << 10));
    for headers in [header.repeat(100), "y: 1\r\n".repeat(100)] {
        let text = format!("GET /v1/health HTTP/1.1\r\nhost: x\r\n{headers}\r\n");
        assert!(exchange(&socket, text.as_bytes()).starts_with("HTTP/1.1 431"));
    }
    let padded = |bytes: usize| {
        let text = "b".repeat(bytes);
        format!("GET /v1/health HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: {text}\r\n\r\n")
    };
    let fits = exchange(&socket, padded((64 << 10) - 256).as_bytes());
    assert!(fits.starts_with("HTTP/1.1 200"), "{fits}");
    let large = exchange(&socket, padded(64 << 10).as_bytes());
    assert!(large.starts_with("HTTP/1.1 431"), "{large}");
    assert_eq!(get(&socket, "/v1/nowhere").status, 404);
    assert_eq!(get(&socket, "/v1/plan").status, 405);
    assert_eq!(get(&socket, "/v1/plan").json()["kind"], "invalid");
    run.stop();
    stand.world.lawful();
}

/// Who asks for too much at once is told so, and when to come again; the driver's own work goes on.
#[test]
fn more_than_the_rate_is_refused_for_a_moment() {
    let stand = Stand::new(3);
    let run = stand.up(&[("web", 1)]);
    run.client();
    let socket = stand.paths().socket();
    let busy = (0..2_000).find_map(|_| {
        let answer = post(&socket, "/v1/plan", "{");
        (answer.status != 400).then_some(answer)
    });
    let busy = busy.expect("nothing bounds what is asked");
    assert_eq!((busy.status, busy.json()["kind"].clone()), (429, "busy".into()));
    assert!(busy.head.contains("retry-after: 1"), "{}", busy.head);
    run.edit(&counts(&[("web", 3)]));
    run.converged();
    eventually("it answers again", || get(&socket, "/v1/health").status == 200);
    run.stop();
    stand.world.lawful();
}

/// Connections beyond the bound are turned away, and counted; those before it are served.
#[test]
fn connections_beyond_the_bound_are_turned_away() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 1)]);
    run.client();
    let socket = stand.paths().socket();
    let idle: Vec<_> = (0..512).map(|_| connect(&socket)).collect();
    eventually("there is no place left", || get(&socket, "/v1/health").status == 503);
    let full = get(&socket, "/v1/health");
    assert_eq!((full.status, full.json()["kind"].clone()), (503, "busy".into()));
    let length = format!("content-length: {}\r\n", full.body.len());
    assert!(full.head.contains(&length), "{full:?}");
    assert!(run.plan(&Edit::None).unwrap().empty);
    drop(idle);
    eventually("there is room again", || get(&socket, "/v1/health").status == 200);
    let away = get(&socket, "/metrics").body;
    let line = away.lines().find(|line| line.starts_with("levelhead_api_turned_away_total"));
    assert_ne!(line, Some("levelhead_api_turned_away_total 0"));
    run.stop();
    stand.world.lawful();
}

/// A small generator, so that a failure can be told by its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }
}

/// Whatever bytes come, no answer is a success that changes something, and the driver is as it was.
#[test]
fn no_rubbish_moves_the_driver() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 2)]);
    run.client();
    let socket = stand.paths().socket();
    let body = r#"{"edit":{"edit":"counts","counts":{"web":1}},"hash":"9eb80b7df67fd21b11181cd1d5b2ff7b127a1be43ef9d2d87405ab481cfe94d2","source":{"face":"cli","who":"ada"}}"#;
    let seeds = [
        "GET /v1/watch?cursor=1-2.3 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(),
        "GET /v1/events?after=0-07070707&limit=5&wait=false HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(),
        format!("POST /v1/apply HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()),
        "GET /v1/operations/1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(),
    ];
    let before = run.view();
    let mut dice = Dice(0x5eed_0123_4567_89ab);
    let deadline = Instant::now() + BOUND;
    for round in 0..400 {
        let mut bytes = seeds[dice.roll(seeds.len())].clone().into_bytes();
        for _ in 0..=dice.roll(6) {
            let at = dice.roll(bytes.len());
            match dice.roll(4) {
                0 => bytes[at] = u8::try_from(dice.roll(256)).unwrap(),
                1 => bytes.truncate(at.max(1)),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, u8::try_from(dice.roll(256)).unwrap()),
            }
            if bytes.is_empty() {
                bytes.push(b'G');
            }
        }
        let mut stream = connect(&socket);
        // The driver may have closed already, and does not have to answer.
        drop(stream.write_all(&bytes));
        drop(stream);
        assert!(Instant::now() < deadline, "round {round} of the dice takes too long");
    }
    eventually("it answers", || get(&socket, "/v1/health").status == 200);
    let after = run.view();
    assert_eq!((after.generation, after.ready, after.pass), (before.generation, 2, before.pass));
    run.stop();
    stand.world.lawful();
}
