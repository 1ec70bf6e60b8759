//! Sends to and receives from RocketMQ with the Rust client `rocketmq-client-rust`.
//!
//! ```text
//! client send NAMESRV TOPIC COUNT                   one producer, messages m0, m1, ...
//! client recv NAMESRV TOPIC GROUP COUNT SECONDS     one push consumer, from the first offset
//! client session NAMESRV                            one producer; each line "TOPIC COUNT" is a send
//! ```
//!
//! It prints "SENT ok/count" or "RECEIVED ok/count" and ends with status 0 when nothing is missing.

#![recursion_limit = "512"]

use std::collections::HashSet;
use std::error::Error;
use std::io::BufRead;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rocketmq_client_rust::{
    ClientResult, ClientRuntime, ClientRuntimeConfig, ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus,
    DefaultMQProducer, DefaultMQPushConsumer, MQPushConsumer, MessageListenerConcurrently, SendStatus,
};
use rocketmq_model::common::consumer::consume_from_where::ConsumeFromWhere;
use rocketmq_model::common::message::message_ext::MessageExt;
use rocketmq_model::common::message::message_single::Message;
use rocketmq_observability::TelemetryRuntimeGuard;
use rocketmq_runtime::RuntimeOwner;

type Outcome = Result<bool, Box<dyn Error>>;

const SEND_TIMEOUT_MS: u64 = 10_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let status = match run(&words) {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(error) => {
            println!("FAILED {error}");
            1
        }
    };
    // What the client still has running ends with the process.
    std::process::exit(status);
}

fn run(words: &[String]) -> Outcome {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let owner = RuntimeOwner::new()?;
    let telemetry = TelemetryRuntimeGuard::noop();
    let runtime = ClientRuntime::try_new(
        owner.root_context().component("interop"),
        ClientRuntimeConfig::default(),
        telemetry.handle(),
    )?;
    match words.as_slice() {
        ["send", name_server, topic, count] => {
            let mut producer = started_producer(&owner, runtime, name_server)?;
            send(&owner, &mut producer, topic, count.parse()?)
        }
        ["session", name_server] => {
            let mut producer = started_producer(&owner, runtime, name_server)?;
            session(&owner, &mut producer)
        }
        ["recv", name_server, topic, group, count, seconds] => {
            let inbox = Inbox::expecting(count.parse()?);
            let mut consumer = DefaultMQPushConsumer::builder(runtime)
                .consumer_group(group.to_string())
                .name_server_addr(name_server.to_string())
                .consume_from_where(ConsumeFromWhere::ConsumeFromFirstOffset)
                .build();
            consumer.register_message_listener_concurrently(Listener(inbox.clone()));
            owner.block_on(async {
                consumer.subscribe(*topic, "*").await?;
                consumer.start().await
            })?;
            Ok(inbox.wait(Duration::from_secs(seconds.parse()?)))
        }
        _ => Err(format!("unknown command {words:?}").into()),
    }
}

fn started_producer(
    owner: &RuntimeOwner,
    runtime: Arc<ClientRuntime>,
    name_server: &str,
) -> Result<DefaultMQProducer, Box<dyn Error>> {
    let mut producer = DefaultMQProducer::builder(runtime)
        .producer_group("rig-rust".to_string())
        .name_server_addr(name_server.to_string())
        .build();
    owner.block_on(async { producer.start().await })?;
    Ok(producer)
}

fn send(owner: &RuntimeOwner, producer: &mut DefaultMQProducer, topic: &str, count: usize) -> Outcome {
    let mut sent = 0;
    for number in 0..count {
        let body = format!("m{number}");
        let message = Message::builder().topic(topic).tags("TagA").body_slice(body.as_bytes()).build_unchecked();
        match owner.block_on(async { producer.send_with_timeout(message, SEND_TIMEOUT_MS).await }) {
            Ok(Some(result)) if result.send_status == SendStatus::SendOk => sent += 1,
            Ok(result) => println!("FAILED {result:?}"),
            Err(error) => println!("FAILED {error}"),
        }
    }
    println!("SENT {sent}/{count}");
    Ok(sent == count)
}

fn session(owner: &RuntimeOwner, producer: &mut DefaultMQProducer) -> Outcome {
    println!("READY");
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (topic, count) = line.split_once(' ').ok_or("a line is a topic and a count")?;
        send(owner, producer, topic, count.parse()?)?;
    }
    Ok(true)
}

struct Listener(Arc<Inbox>);

impl MessageListenerConcurrently for Listener {
    fn consume_message(
        &self,
        messages: &[&MessageExt],
        _context: &ConsumeConcurrentlyContext,
    ) -> ClientResult<ConsumeConcurrentlyStatus> {
        for message in messages {
            if let Some(body) = message.body() {
                self.0.take(&String::from_utf8_lossy(&body));
            }
        }
        Ok(ConsumeConcurrentlyStatus::ConsumeSuccess)
    }
}

/// Counts the expected bodies, m0 to m(count-1), each once.
struct Inbox {
    count: usize,
    missing: Mutex<HashSet<String>>,
    changed: Condvar,
}

impl Inbox {
    fn expecting(count: usize) -> Arc<Self> {
        let missing = (0..count).map(|number| format!("m{number}")).collect();
        Arc::new(Self { count, missing: Mutex::new(missing), changed: Condvar::new() })
    }

    fn take(&self, body: &str) {
        self.missing.lock().unwrap().remove(body);
        self.changed.notify_all();
    }

    fn wait(&self, longest: Duration) -> bool {
        let missing = self.missing.lock().unwrap();
        let (missing, _) =
            self.changed.wait_timeout_while(missing, longest, |missing| !missing.is_empty()).unwrap();
        println!("RECEIVED {}/{}", self.count - missing.len(), self.count);
        missing.is_empty()
    }
}
