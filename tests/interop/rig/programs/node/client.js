// Sends to and receives from RocketMQ with the Node client `ali-ons`.
//
//   node client.js send NAMESRV TOPIC COUNT                   one producer, messages m0, m1, ...
//   node client.js recv NAMESRV TOPIC GROUP COUNT SECONDS     one push consumer, from the first offset
//   node client.js session NAMESRV                            one producer; each line "TOPIC COUNT" is a send
//
// It prints "SENT ok/count" or "RECEIVED ok/count" and ends with status 0 when nothing is missing.
'use strict';

const readline = require('readline');
const { Consumer, Message, Producer } = require('ali-ons');

// `httpclient` is never called when `nameSrv` is given, but without one the client does nothing at all.
function optionsFor(nameServer) {
  return {
    nameSrv: [nameServer],
    accessKey: 'k',
    secretKey: 's',
    logger: { info() {}, debug() {}, warn() {}, error: console.error },
    httpclient: { request() { throw new Error('no HTTP here'); } },
  };
}

function bodiesOf(count) {
  return Array.from({ length: count }, (_, number) => `m${number}`);
}

async function startProducer(nameServer) {
  const producer = new Producer({ ...optionsFor(nameServer), producerGroup: 'rig-node' });
  producer.on('error', error => console.log('ERROR', error.message));
  await producer.ready();
  return producer;
}

async function send(producer, topic, count) {
  let sent = 0;
  for (const body of bodiesOf(count)) {
    try {
      const result = await producer.send(new Message(topic, 'TagA', body));
      sent += result.sendStatus === 'SEND_OK' ? 1 : 0;
    } catch (error) {
      console.log('FAILED', error.message);
    }
  }
  console.log(`SENT ${sent}/${count}`);
  return sent === count;
}

async function session(nameServer) {
  const producer = await startProducer(nameServer);
  console.log('READY');
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [topic, count] = line.split(' ');
    await send(producer, topic, Number(count));
  }
  return true;
}

async function receive(nameServer, topic, group, count, seconds) {
  const missing = new Set(bodiesOf(count));
  const consumer = new Consumer({
    ...optionsFor(nameServer),
    consumerGroup: group,
    consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET',
  });
  // A new group has no %RETRY% topic yet, which is reported here and does no harm.
  consumer.on('error', error => console.log('ERROR', error.message));
  await new Promise(resolve => {
    setTimeout(resolve, seconds * 1000);
    consumer.subscribe(topic, '*', async message => {
      missing.delete(message.body.toString());
      if (missing.size === 0) resolve();
    });
  });
  console.log(`RECEIVED ${count - missing.size}/${count}`);
  return missing.size === 0;
}

async function run(words) {
  switch (words[0]) {
    case 'send':
      return send(await startProducer(words[1]), words[2], Number(words[3]));
    case 'recv':
      return receive(words[1], words[2], words[3], Number(words[4]), Number(words[5]));
    case 'session':
      return session(words[1]);
    default:
      throw new Error(`unknown command ${words}`);
  }
}

// The client leaves timers and connections behind, hence the explicit end.
run(process.argv.slice(2)).then(
  isComplete => process.exit(isComplete ? 0 : 1),
  error => {
    console.log('FAILED', error);
    process.exit(1);
  },
);
