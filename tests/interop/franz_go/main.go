// Produces and reads back, with assigned partitions, once for every codec and every kind of acknowledgement.
// Arguments: seed brokers (comma-separated), topic, number of partitions, and if wanted the release whose versions are
// spoken at most, such as v0.10.2: what that one did not know yet (codecs, idempotence, headers, times) is left out.
// Prints one line a combination: "codec acks ok" or "codec acks" and what differs.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

const (
	recordCount = 300
	timeLimit   = 30 * time.Second
)

var codecs = []struct {
	name  string
	codec kgo.CompressionCodec
}{
	{"none", kgo.NoCompression()},
	{"gzip", kgo.GzipCompression()},
	{"snappy", kgo.SnappyCompression()},
	{"lz4", kgo.Lz4Compression()},
	{"zstd", kgo.ZstdCompression()},
}

var acknowledgements = []struct {
	name    string
	options []kgo.Opt
}{
	{"0", []kgo.Opt{kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()}},
	{"1", []kgo.Opt{kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()}},
	{"all", []kgo.Opt{kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DisableIdempotentWrite()}},
	{"idempotent", []kgo.Opt{kgo.RequiredAcks(kgo.AllISRAcks())}},
}

// The lowest version of Produce that brings timestamps, headers with idempotence, and zstd.
const (
	produceKey       = 0
	timestampsLowest = 2
	batchesLowest    = 3
	zstdLowest       = 7
)

var produceHighest int16 = 100

func main() {
	seeds := strings.Split(os.Args[1], ",")
	topic := os.Args[2]
	partitions, err := strconv.Atoi(os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, "the number of partitions:", err)
		os.Exit(2)
	}
	var pinned []kgo.Opt
	if len(os.Args) > 4 {
		versions := kversion.FromString(os.Args[4])
		if versions == nil {
			fmt.Fprintln(os.Stderr, "no such release:", os.Args[4])
			os.Exit(2)
		}
		produceHighest, _ = versions.LookupMaxKeyVersion(produceKey)
		pinned = append(pinned, kgo.MaxVersions(versions))
	}
	next := make([]int64, partitions) // the offset that each partition's next record gets
	for _, codec := range codecs {
		for _, acks := range acknowledgements {
			// Before KIP-57 the frames of lz4 had another checksum, which this client neither writes nor believes.
			if (codec.name == "zstd" && produceHighest < zstdLowest) ||
				(codec.name == "lz4" && produceHighest < timestampsLowest) ||
				(acks.name == "idempotent" && produceHighest < batchesLowest) {
				continue
			}
			outcome := "ok"
			options := append([]kgo.Opt{kgo.SeedBrokers(seeds...), kgo.ProducerBatchCompression(codec.codec)}, acks.options...)
			options = append(options, pinned...)
			if err := combination(options, topic, next); err != nil {
				outcome = strings.ReplaceAll(err.Error(), "\n", " ")
			}
			fmt.Println(codec.name, acks.name, outcome)
		}
	}
}

func combination(options []kgo.Opt, topic string, next []int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	sent, err := produce(ctx, options, topic, len(next))
	if err != nil {
		return err
	}
	read, err := read(ctx, options, topic, next)
	if err != nil {
		return err
	}
	for partition := range next {
		start := next[partition]
		next[partition] += int64(len(sent[partition]))
		if err := difference(sent[partition], read[partition], start); err != nil {
			return fmt.Errorf("partition %d: %w", partition, err)
		}
	}
	return nil
}

func produce(ctx context.Context, options []kgo.Opt, topic string, partitions int) (map[int][]*kgo.Record, error) {
	client, err := kgo.NewClient(append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	random := rand.New(rand.NewSource(7))
	now := time.Now().Truncate(time.Millisecond)
	sent := make(map[int][]*kgo.Record)
	var records []*kgo.Record
	for i := 0; i < recordCount; i++ {
		value := make([]byte, random.Intn(2000))
		random.Read(value)
		record := &kgo.Record{
			Topic:     topic,
			Partition: int32(i % partitions),
			Timestamp: now.Add(time.Duration(i) * time.Millisecond),
			Key:       []byte(fmt.Sprintf("key-%d", i)),
			Value:     value,
		}
		if produceHighest >= batchesLowest {
			record.Headers = []kgo.RecordHeader{{Key: "number", Value: []byte(strconv.Itoa(i))}}
		}
		sent[i%partitions] = append(sent[i%partitions], record)
		records = append(records, record)
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, fmt.Errorf("produce: %w", err)
	}
	return sent, nil
}

func read(ctx context.Context, options []kgo.Opt, topic string, next []int64) (map[int][]*kgo.Record, error) {
	assigned := make(map[int32]kgo.Offset)
	for partition, offset := range next {
		assigned[int32(partition)] = kgo.NewOffset().At(offset)
	}
	client, err := kgo.NewClient(append(options,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: assigned}),
		kgo.FetchMaxWait(200*time.Millisecond))...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	read := make(map[int][]*kgo.Record)
	for count := 0; count < recordCount; {
		fetches := client.PollFetches(ctx)
		for _, failed := range fetches.Errors() {
			return nil, fmt.Errorf("read %d of %d records, partition %d: %w", count, recordCount, failed.Partition, failed.Err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			read[int(record.Partition)] = append(read[int(record.Partition)], record)
			count++
		})
	}
	return read, nil
}

func difference(sent, read []*kgo.Record, start int64) error {
	if len(sent) != len(read) {
		return fmt.Errorf("sent %d records, read %d", len(sent), len(read))
	}
	for i, there := range sent {
		here := read[i]
		switch {
		case here.Offset != start+int64(i):
			return fmt.Errorf("record %d has offset %d, not %d", i, here.Offset, start+int64(i))
		case !bytes.Equal(there.Key, here.Key) || !bytes.Equal(there.Value, here.Value):
			return fmt.Errorf("record %d has another key or value", i)
		case len(here.Headers) != len(there.Headers),
			len(here.Headers) == 1 && !bytes.Equal(there.Headers[0].Value, here.Headers[0].Value):
			return fmt.Errorf("record %d has other headers: %v", i, here.Headers)
		case produceHighest >= timestampsLowest && !there.Timestamp.Equal(here.Timestamp):
			return errors.New("record " + strconv.Itoa(i) + " has another timestamp: " + here.Timestamp.String())
		}
	}
	return nil
}
