package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	idBytes      = 8
	latestOffset = -1
	noOffset     = -1
)

var verifiable = regexp.MustCompile(`^([0-9]{1,10})[.]([0-9]{1,10})$`)

// consumer consumes partitions by hand or as a member of a group. This client fixes what it consumes when it is made,
// and a position that a script gives is known to no broker: after assign and seek the next poll makes another client.
type consumer struct {
	config          map[string]string
	base, ofGroup   []kgo.Opt
	reset           kgo.Offset
	group, instance string
	readCommitted   bool

	client     *kgo.Client
	subscribed []string
	assigned   map[string]kgo.Offset // by hand: the position of each partition

	lock  sync.Mutex
	mine  map[string]bool // of the member
	moved map[string]bool // since the last poll
}

// newConsumer reads configurations under Kafka's names.
func newConsumer(start *invocation) (*consumer, error) {
	c := &consumer{
		config: start.Consumer, reset: kgo.NewOffset().AtEnd(), assigned: map[string]kgo.Offset{},
		mine: map[string]bool{}, moved: map[string]bool{},
	}
	c.base = []kgo.Opt{kgo.SeedBrokers(strings.Split(start.Servers, ",")...), kgo.ClientID(start.ClientID)}
	for name, text := range start.Consumer {
		number, _ := strconv.ParseFloat(text, 64)
		ms := time.Duration(number * float64(time.Millisecond))
		switch name {
		case "auto.offset.reset":
			resets := map[string]kgo.Offset{"earliest": kgo.NewOffset().AtStart(), "latest": kgo.NewOffset().AtEnd()}
			reset, known := resets[text]
			if !known {
				return nil, fmt.Errorf("auto.offset.reset=%s: expected earliest or latest", text)
			}
			c.reset = reset
		case "isolation.level":
			c.readCommitted = text == "read_committed"
			if c.readCommitted {
				c.base = append(c.base, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
			}
		case "group.id":
			c.group = text
		case "group.instance.id":
			c.instance = text
			c.ofGroup = append(c.ofGroup, kgo.InstanceID(text))
		case "enable.auto.commit":
			if text == "false" {
				c.ofGroup = append(c.ofGroup, kgo.DisableAutoCommit())
			}
		case "auto.commit.interval.ms":
			c.ofGroup = append(c.ofGroup, kgo.AutoCommitInterval(ms))
		case "session.timeout.ms":
			c.ofGroup = append(c.ofGroup, kgo.SessionTimeout(ms))
		case "heartbeat.interval.ms":
			c.ofGroup = append(c.ofGroup, kgo.HeartbeatInterval(ms))
		case "max.poll.interval.ms":
			c.ofGroup = append(c.ofGroup, kgo.RebalanceTimeout(ms))
		case "fetch.min.bytes":
			c.base = append(c.base, kgo.FetchMinBytes(int32(number)))
		case "fetch.max.bytes":
			c.base = append(c.base, kgo.FetchMaxBytes(int32(number)))
		case "max.partition.fetch.bytes":
			c.base = append(c.base, kgo.FetchMaxPartitionBytes(int32(number)))
		case "fetch.max.wait.ms":
			c.base = append(c.base, kgo.FetchMaxWait(ms))
		case "metadata.max.age.ms":
			c.base = append(c.base, kgo.MetadataMaxAge(ms))
		case "metadata.min.age.ms":
			c.base = append(c.base, kgo.MetadataMinAge(ms))
		case "client.rack":
			c.base = append(c.base, kgo.Rack(text))
		default:
			return nil, fmt.Errorf("unknown configuration %s", name)
		}
	}
	c.base = append(c.base, kgo.ConsumeResetOffset(c.reset))
	return c, nil
}

// connect returns the client; one that consumes nothing serves requests.
func (c *consumer) connect() (*kgo.Client, error) {
	if c.client != nil {
		return c.client, nil
	}
	given := append([]kgo.Opt{}, c.base...)
	if len(c.subscribed) > 0 {
		given = append(given, c.ofGroup...)
		given = append(given,
			kgo.ConsumerGroup(c.group),
			kgo.ConsumeTopics(c.subscribed...),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, keys map[string][]int32) { c.move(keys, true) }),
			kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, keys map[string][]int32) { c.move(keys, false) }),
			kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, keys map[string][]int32) {
				if c.config["enable.auto.commit"] != "false" {
					client.CommitUncommittedOffsets(ctx)
				}
				c.move(keys, false)
			}),
		)
	} else if len(c.assigned) > 0 {
		wanted := map[string]map[int32]kgo.Offset{}
		for name, offset := range c.assigned {
			topic, partition := keyOf(name)
			if wanted[topic] == nil {
				wanted[topic] = map[int32]kgo.Offset{}
			}
			wanted[topic][partition] = offset
		}
		given = append(given, kgo.ConsumePartitions(wanted))
	}
	client, err := kgo.NewClient(given...)
	if err == nil {
		c.client = client
	}
	return client, err
}

func (c *consumer) move(keys map[string][]int32, here bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for topic, partitions := range keys {
		for _, partition := range partitions {
			name := fmt.Sprintf("%s-%d", topic, partition)
			c.moved[name] = true
			if here {
				c.mine[name] = true
			} else {
				delete(c.mine, name)
			}
		}
	}
}

// disconnect ends the client, which leaves its group.
func (c *consumer) disconnect() {
	if c.client != nil {
		c.client.Close()
		c.client = nil
	}
}

func (c *consumer) assign(ctx context.Context, names []string) error {
	committed := map[string]any{}
	if c.group != "" {
		var err error
		if committed, err = c.committed(ctx, names); err != nil {
			return err
		}
	}
	c.disconnect()
	c.subscribed = nil
	before := c.assigned
	c.assigned = map[string]kgo.Offset{}
	for _, name := range names {
		position, known := before[name]
		if offset, stored := committed[name].(int64); stored && !known {
			position, known = kgo.NewOffset().At(offset), true
		}
		if !known {
			position = c.reset
		}
		c.assigned[name] = position
	}
	return nil
}

func (c *consumer) subscribe(topics []string) error {
	if len(topics) > 0 && c.group == "" {
		return errors.New("a subscription needs a group.id")
	}
	c.disconnect()
	c.assigned = map[string]kgo.Offset{}
	c.subscribed = topics
	if len(topics) == 0 {
		return nil
	}
	_, err := c.connect()
	return err
}

func (c *consumer) seek(ctx context.Context, to map[string]any) error {
	for name, place := range to {
		position := kgo.NewOffset().AtStart()
		switch place := place.(type) {
		case float64:
			position = kgo.NewOffset().At(int64(place))
		case string:
			if place == "end" {
				position = kgo.NewOffset().AtEnd()
			}
		}
		if len(c.subscribed) == 0 {
			if _, known := c.assigned[name]; !known {
				return fmt.Errorf("%s is not assigned", name)
			}
			c.assigned[name] = position
			continue
		}
		offset, err := c.resolve(ctx, name, position)
		if err != nil {
			return err
		}
		topic, partition := keyOf(name)
		c.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {partition: {Epoch: -1, Offset: offset}}})
	}
	if len(c.subscribed) == 0 {
		c.disconnect()
	}
	return nil
}

// resolve returns the offset of a position: a member's positions are numbers.
func (c *consumer) resolve(ctx context.Context, name string, position kgo.Offset) (int64, error) {
	found := position.EpochOffset().Offset
	if found >= 0 {
		return found, nil
	}
	offsets, err := c.listed(ctx, []string{name}, found)
	if err != nil {
		return noOffset, err
	}
	return offsets[name].(int64), nil
}

func (c *consumer) poll(timeoutMs float64, count int) (map[string]any, error) {
	if len(c.subscribed) == 0 && len(c.assigned) == 0 {
		return nil, errors.New("there is neither a subscription nor an assignment")
	}
	client, err := c.connect()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(context.Background(), time.Duration(timeoutMs*float64(time.Millisecond)))
	defer cancel()
	fetches := client.PollRecords(limited, count)
	found := map[string][][]int64{}
	fetches.EachRecord(func(record *kgo.Record) {
		name := fmt.Sprintf("%s-%d", record.Topic, record.Partition)
		found[name] = append(found[name], []int64{record.Offset, idOf(record.Value)})
		if _, byHand := c.assigned[name]; byHand {
			c.assigned[name] = kgo.NewOffset().At(record.Offset + 1)
		}
	})
	for _, each := range fetches.Errors() {
		if len(found) == 0 && !errors.Is(each.Err, context.DeadlineExceeded) {
			return nil, each.Err
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	rebalanced, assigned := names(c.moved), names(c.mine)
	c.moved = map[string]bool{}
	for name := range c.assigned {
		assigned = append(assigned, name)
	}
	return map[string]any{"mops": []any{[]any{"poll", found}}, "rebalanced": rebalanced, "assigned": assigned}, nil
}

func (c *consumer) listed(ctx context.Context, keys []string, timestamp int64) (map[string]any, error) {
	client, err := c.connect()
	if err != nil {
		return nil, err
	}
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	if c.readCommitted {
		request.IsolationLevel = 1
	}
	for topic, partitions := range byTopic(keys) {
		of := kmsg.NewListOffsetsRequestTopic()
		of.Topic = topic
		for _, partition := range partitions {
			each := kmsg.NewListOffsetsRequestTopicPartition()
			each.Partition, each.Timestamp = partition, timestamp
			of.Partitions = append(of.Partitions, each)
		}
		request.Topics = append(request.Topics, of)
	}
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	offsets := map[string]any{}
	for _, topic := range response.Topics {
		for _, each := range topic.Partitions {
			if err := kerr.ErrorForCode(each.ErrorCode); err != nil {
				return nil, err
			}
			offsets[fmt.Sprintf("%s-%d", topic.Topic, each.Partition)] = each.Offset
		}
	}
	return offsets, nil
}

func (c *consumer) committed(ctx context.Context, keys []string) (map[string]any, error) {
	client, err := c.connect()
	if err != nil {
		return nil, err
	}
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = c.group
	for topic, partitions := range byTopic(keys) {
		of := kmsg.NewOffsetFetchRequestTopic()
		of.Topic, of.Partitions = topic, partitions
		request.Topics = append(request.Topics, of)
	}
	response, err := request.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(response.ErrorCode)
	}
	if err != nil {
		return nil, err
	}
	offsets := map[string]any{}
	for _, key := range keys {
		offsets[key] = nil
	}
	for _, topic := range response.Topics {
		for _, each := range topic.Partitions {
			if err := kerr.ErrorForCode(each.ErrorCode); err != nil {
				return nil, err
			}
			if each.Offset >= 0 {
				offsets[fmt.Sprintf("%s-%d", topic.Topic, each.Partition)] = each.Offset
			}
		}
	}
	return offsets, nil
}

func (c *consumer) commit(ctx context.Context, to map[string]int64) error {
	client, err := c.connect()
	if err != nil {
		return err
	}
	request := kmsg.NewPtrOffsetCommitRequest()
	request.Group, request.Generation = c.group, -1
	if len(c.subscribed) > 0 {
		request.MemberID, request.Generation = client.GroupMetadata()
		if c.instance != "" {
			request.InstanceID = &c.instance
		}
	}
	keys := make([]string, 0, len(to))
	for name := range to {
		keys = append(keys, name)
	}
	for topic, partitions := range byTopic(keys) {
		of := kmsg.NewOffsetCommitRequestTopic()
		of.Topic = topic
		for _, partition := range partitions {
			each := kmsg.NewOffsetCommitRequestTopicPartition()
			each.Partition, each.Offset = partition, to[fmt.Sprintf("%s-%d", topic, partition)]
			of.Partitions = append(of.Partitions, each)
		}
		request.Topics = append(request.Topics, of)
	}
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, topic := range response.Topics {
		for _, each := range topic.Partitions {
			if err := kerr.ErrorForCode(each.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// carryOut runs one call of the consumer; false for a call that is not one of it.
func (c *consumer) carryOut(r *run, of *invocation) bool {
	background := context.Background()
	var facts map[string]any
	var err error
	switch of.F {
	case "assign":
		var keys []string
		argument(of, &keys)
		err = c.assign(background, keys)
	case "subscribe":
		var topics []string
		argument(of, &topics)
		err = c.subscribe(topics)
	case "seek":
		var to map[string]any
		argument(of, &to)
		err = c.seek(background, to)
	case "poll":
		facts, err = c.poll(of.TimeoutMs, of.Records)
	case "ends", "committed":
		var offsets map[string]any
		if of.F == "ends" {
			offsets, err = c.listed(background, of.Keys, latestOffset)
		} else {
			offsets, err = c.committed(background, of.Keys)
		}
		facts = map[string]any{"offsets": offsets}
	case "commit":
		var to map[string]int64
		argument(of, &to)
		err = c.commit(background, to)
	default:
		return false
	}
	if err != nil {
		r.end(of, err)
	} else {
		r.complete(of, "ok", facts)
	}
	return true
}

// idOf returns the id of a value that a run has sent, or Java's VerifiableProducer (PREFIX.NUMBER); -1 for another one.
func idOf(value []byte) int64 {
	if found := verifiable.FindSubmatch(value); found != nil {
		prefix, _ := strconv.ParseInt(string(found[1]), 10, 64)
		number, _ := strconv.ParseInt(string(found[2]), 10, 64)
		return prefix + number
	}
	if len(value) < idBytes {
		return -1
	}
	return int64(binary.BigEndian.Uint64(value))
}

// argument reads that of the only micro-operation.
func argument(of *invocation, into any) {
	var mops [][]json.RawMessage
	if err := json.Unmarshal(of.Mops, &mops); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(mops[0][1], into); err != nil {
		panic(err)
	}
}

func keyOf(name string) (string, int32) {
	at := strings.LastIndex(name, "-")
	partition, err := strconv.Atoi(name[at+1:])
	if err != nil {
		panic(err)
	}
	return name[:at], int32(partition)
}

func byTopic(keys []string) map[string][]int32 {
	found := map[string][]int32{}
	for _, name := range keys {
		topic, partition := keyOf(name)
		found[topic] = append(found[topic], partition)
	}
	return found
}

func names(of map[string]bool) []string {
	found := make([]string, 0, len(of))
	for name := range of {
		found = append(found, name)
	}
	return found
}
