// Command client sends to and receives from RocketMQ with Apache's Go client.
//
//	client send NAMESRV TOPIC COUNT                   one producer, messages m0, m1, ...
//	client recv NAMESRV TOPIC GROUP COUNT SECONDS     one push consumer, from the first offset
//	client session NAMESRV                            one producer; each line "TOPIC COUNT" of the input is a send
//
// It prints "SENT ok/count" or "RECEIVED ok/count" and ends with status 0 when nothing is missing.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func main() {
	rlog.SetLogLevel("error")
	if err := run(os.Args[1:]); err != nil {
		fmt.Println("FAILED", err)
		os.Exit(1)
	}
}

func run(words []string) error {
	switch {
	case len(words) == 4 && words[0] == "send":
		return withProducer(words[1], func(sender rocketmq.Producer) error {
			return send(sender, words[2], words[3])
		})
	case len(words) == 6 && words[0] == "recv":
		return receive(words[1], words[2], words[3], words[4], words[5])
	case len(words) == 2 && words[0] == "session":
		return withProducer(words[1], session)
	}
	return fmt.Errorf("unknown command %q", words)
}

func withProducer(nameServer string, use func(rocketmq.Producer) error) error {
	sender, err := rocketmq.NewProducer(
		producer.WithNameServer(primitive.NamesrvAddr{nameServer}),
		producer.WithGroupName("rig-go"),
		producer.WithSendMsgTimeout(10*time.Second),
		producer.WithRetry(2),
	)
	if err != nil {
		return err
	}
	if err := sender.Start(); err != nil {
		return err
	}
	defer sender.Shutdown()
	return use(sender)
}

func send(sender rocketmq.Producer, topic string, countText string) error {
	count, err := strconv.Atoi(countText)
	if err != nil {
		return err
	}
	sent := 0
	var failure error
	for number := 0; number < count; number++ {
		message := primitive.NewMessage(topic, []byte(fmt.Sprintf("m%d", number))).WithTag("TagA")
		result, err := sender.SendSync(context.Background(), message)
		switch {
		case err != nil:
			failure = err
		case result.Status != primitive.SendOK:
			failure = fmt.Errorf("status %d", result.Status)
		default:
			sent++
		}
	}
	fmt.Printf("SENT %d/%d\n", sent, count)
	return failure
}

func session(sender rocketmq.Producer) error {
	fmt.Println("READY")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 2 {
			return fmt.Errorf("unknown line %q", lines.Text())
		}
		if err := send(sender, words[0], words[1]); err != nil {
			fmt.Println("FAILED", err)
		}
	}
	return lines.Err()
}

func receive(nameServer, topic, group, countText, secondsText string) error {
	count, err := strconv.Atoi(countText)
	if err != nil {
		return err
	}
	seconds, err := strconv.Atoi(secondsText)
	if err != nil {
		return err
	}
	receiver, err := rocketmq.NewPushConsumer(
		consumer.WithNameServer(primitive.NamesrvAddr{nameServer}),
		consumer.WithGroupName(group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	if err != nil {
		return err
	}
	inbox := newInbox(count)
	take := func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, message := range messages {
			inbox.take(string(message.Body))
		}
		return consumer.ConsumeSuccess, nil
	}
	if err := receiver.Subscribe(topic, consumer.MessageSelector{}, take); err != nil {
		return err
	}
	if err := receiver.Start(); err != nil {
		return err
	}
	defer receiver.Shutdown()
	select {
	case <-inbox.full:
	case <-time.After(time.Duration(seconds) * time.Second):
	}
	received := inbox.received()
	fmt.Printf("RECEIVED %d/%d\n", received, count)
	if received != count {
		return fmt.Errorf("%d messages are missing", count-received)
	}
	return nil
}

// inbox counts the expected bodies, m0 to m(count-1), each once.
type inbox struct {
	mutex   sync.Mutex
	missing map[string]bool
	count   int
	full    chan struct{}
}

func newInbox(count int) *inbox {
	missing := make(map[string]bool, count)
	for number := 0; number < count; number++ {
		missing[fmt.Sprintf("m%d", number)] = true
	}
	return &inbox{missing: missing, count: count, full: make(chan struct{})}
}

func (box *inbox) take(body string) {
	box.mutex.Lock()
	defer box.mutex.Unlock()
	if !box.missing[body] {
		return
	}
	delete(box.missing, body)
	if len(box.missing) == 0 {
		close(box.full)
	}
}

func (box *inbox) received() int {
	box.mutex.Lock()
	defer box.mutex.Unlock()
	return box.count - len(box.missing)
}
