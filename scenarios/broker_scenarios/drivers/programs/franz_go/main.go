// The driver of franz-go: a producer, with or without transactions, and a consumer, that get their operations as JSON
// lines from a port of the run. The lines are those of the Python drivers (python_clients/lines.py).
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	unknownCode     = -1
	requestTimedOut = 7
	lineBytesMax    = 1 << 28
)

// Refusals before the append that every attempt gets: certain, also after attempts with an unknown outcome.
var deterministicCodes = map[int16]bool{10: true, 17: true, 29: true, 32: true, 43: true, 76: true, 87: true}

type invocation struct {
	I           int               `json:"i"`
	F           string            `json:"f"`
	Mops        json.RawMessage   `json:"mops"`
	Servers     string            `json:"bootstrap_servers"`
	ClientID    string            `json:"client_id"`
	Producer    map[string]string `json:"producer"`
	Consumer    map[string]string `json:"consumer"`
	Keys        []string          `json:"keys"`
	Records     int               `json:"records"`
	Topic       string            `json:"topic"`
	Partition   *int32            `json:"partition"`
	Key         *string           `json:"key"`
	Filler      string            `json:"filler"`
	TimestampMs *int64            `json:"timestamp_ms"`
	TimeoutMs   float64           `json:"timeout_ms"`
	Headers     map[string]string `json:"headers"`
}

type run struct {
	lock       sync.Mutex
	connection net.Conn
}

func (r *run) complete(of *invocation, outcome string, facts map[string]any) {
	line := map[string]any{"i": of.I, "type": outcome, "f": of.F, "mops": of.Mops}
	for name, fact := range facts {
		line[name] = fact
	}
	data, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if _, err := r.connection.Write(append(data, '\n')); err != nil {
		os.Exit(0) // the run is over
	}
}

func (r *run) end(of *invocation, err error) {
	if err == nil {
		r.complete(of, "ok", nil)
		return
	}
	code, outcome := int16(unknownCode), "info"
	var broker *kerr.Error
	switch {
	case errors.As(err, &broker):
		code = broker.Code
	case errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, context.DeadlineExceeded):
		code = requestTimedOut
	}
	if deterministicCodes[code] || errors.Is(err, kgo.ErrMaxBuffered) {
		outcome = "fail"
	}
	r.complete(of, outcome, map[string]any{"error": err.Error(), "code": code})
}

// options reads configurations under Kafka's names.
func options(start *invocation) ([]kgo.Opt, error) {
	all := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(start.Servers, ",")...),
		kgo.ClientID(start.ClientID),
		kgo.RecordPartitioner(partitioner{kgo.StickyKeyPartitioner(nil)}),
	}
	idempotent := true
	for name, text := range start.Producer {
		number, _ := strconv.ParseFloat(text, 64)
		ms := time.Duration(number * float64(time.Millisecond))
		switch name {
		case "acks":
			acks := map[string]kgo.Acks{"all": kgo.AllISRAcks(), "-1": kgo.AllISRAcks(), "1": kgo.LeaderAck(), "0": kgo.NoAck()}
			all = append(all, kgo.RequiredAcks(acks[text]))
		case "enable.idempotence":
			idempotent = text == "true"
		case "linger.ms":
			all = append(all, kgo.ProducerLinger(ms))
		case "request.timeout.ms":
			all = append(all, kgo.ProduceRequestTimeout(ms))
		case "delivery.timeout.ms":
			all = append(all, kgo.RecordDeliveryTimeout(ms))
		case "retries":
			all = append(all, kgo.RecordRetries(int(number)))
		case "batch.size":
			all = append(all, kgo.ProducerBatchMaxBytes(int32(number)))
		case "max.in.flight.requests.per.connection":
			all = append(all, kgo.MaxProduceRequestsInflightPerBroker(int(number)))
		case "metadata.max.age.ms":
			all = append(all, kgo.MetadataMaxAge(ms))
		case "metadata.min.age.ms":
			all = append(all, kgo.MetadataMinAge(ms))
		case "max.buffered.records":
			all = append(all, kgo.MaxBufferedRecords(int(number)))
		case "transactional.id":
			all = append(all, kgo.TransactionalID(text))
		case "transaction.timeout.ms":
			all = append(all, kgo.TransactionTimeout(ms))
		default:
			return nil, fmt.Errorf("unknown configuration %s", name)
		}
	}
	if !idempotent {
		all = append(all, kgo.DisableIdempotentWrite())
	}
	return all, nil
}

// partitioner is the client's default, but for records whose partition a script gives.
type partitioner struct{ kgo.Partitioner }

type topicPartitioner struct{ kgo.TopicPartitioner }

func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return topicPartitioner{p.Partitioner.ForTopic(topic)}
}

func (p topicPartitioner) RequiresConsistency(record *kgo.Record) bool {
	return record.Partition >= 0 || p.TopicPartitioner.RequiresConsistency(record)
}

func (p topicPartitioner) Partition(record *kgo.Record, count int) int {
	if record.Partition >= 0 {
		return int(record.Partition)
	}
	return p.TopicPartitioner.Partition(record, count)
}

func (p topicPartitioner) OnNewBatch() {
	if sticky, ok := p.TopicPartitioner.(kgo.TopicPartitionerOnNewBatch); ok {
		sticky.OnNewBatch()
	}
}

func valueID(of *invocation) int64 {
	var mops [][]json.RawMessage
	var id int64
	if err := json.Unmarshal(of.Mops, &mops); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(mops[0][2], &id); err != nil {
		panic(err)
	}
	return id
}

func send(r *run, client *kgo.Client, of *invocation) {
	id := valueID(of)
	record := &kgo.Record{
		Topic:     of.Topic,
		Partition: -1,
		Value:     append(binary.BigEndian.AppendUint64(nil, uint64(id)), of.Filler...),
	}
	if of.Partition != nil {
		record.Partition = *of.Partition
	}
	if of.Key != nil {
		record.Key = []byte(*of.Key)
	}
	if of.TimestampMs != nil {
		record.Timestamp = time.UnixMilli(*of.TimestampMs)
	}
	for name, text := range of.Headers {
		record.Headers = append(record.Headers, kgo.RecordHeader{Key: name, Value: []byte(text)})
	}
	client.Produce(context.Background(), record, func(stored *kgo.Record, err error) {
		if err != nil {
			r.end(of, err)
			return
		}
		key := fmt.Sprintf("%s-%d", stored.Topic, stored.Partition)
		r.complete(of, "ok", map[string]any{
			"mops":         []any{[]any{"send", key, []any{stored.Offset, id}}},
			"timestamp_ms": stored.Timestamp.UnixMilli(),
		})
	})
}

func carryOut(r *run, client *kgo.Client, reader *consumer, of *invocation) {
	if reader != nil && reader.carryOut(r, of) {
		return
	}
	background := context.Background()
	switch of.F {
	case "send":
		send(r, client, of)
	case "flush":
		r.end(of, client.Flush(background))
	case "init":
		r.end(of, nil) // the client initializes its transactional id with the first transaction
	case "begin":
		r.end(of, client.BeginTransaction())
	case "commit_transaction":
		err := client.Flush(background)
		if err == nil {
			err = client.EndTransaction(background, kgo.TryCommit)
		}
		r.end(of, err)
	case "abort_transaction":
		err := client.AbortBufferedRecords(background)
		if err == nil {
			err = client.EndTransaction(background, kgo.TryAbort)
		}
		r.end(of, err)
	case "close":
		limited, cancel := context.WithTimeout(background, time.Duration(of.TimeoutMs*float64(time.Millisecond)))
		defer cancel()
		var err error
		if client != nil {
			err = client.Flush(limited)
			client.Close()
		}
		if reader != nil {
			reader.disconnect()
		}
		r.end(of, err)
	case "exit":
		os.Exit(0)
	default:
		r.end(of, fmt.Errorf("unknown operation %s", of.F))
	}
}

func main() {
	connection, err := net.Dial("tcp", "127.0.0.1:"+os.Args[len(os.Args)-1])
	if err != nil {
		panic(err)
	}
	r := &run{connection: connection}
	lines := bufio.NewScanner(connection)
	lines.Buffer(nil, lineBytesMax)
	var client *kgo.Client
	var reader *consumer
	for lines.Scan() {
		of := &invocation{}
		if err := json.Unmarshal(lines.Bytes(), of); err != nil {
			panic(err)
		}
		if of.F != "start" {
			carryOut(r, client, reader, of)
			continue
		}
		var err error
		if of.Producer != nil {
			var given []kgo.Opt
			if given, err = options(of); err == nil {
				client, err = kgo.NewClient(given...)
			}
		}
		if of.Consumer != nil && err == nil {
			reader, err = newConsumer(of)
		}
		r.end(of, err)
	}
}
