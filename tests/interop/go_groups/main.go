// Joins a consumer group, prints what it is assigned and what it reads, and commits each record before it prints it.
// Arguments: client (franz-go, sarama or kafka-go), servers (comma-separated), group, topic.
// Prints "assigned 0 2" at the start of each generation and "record PARTITION OFFSET VALUE" for each record.
// Leaves the group when its standard input ends.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

type member func(ctx context.Context, servers []string, group, topic string) error

var members = map[string]member{"franz-go": franz, "sarama": shopify, "kafka-go": segmentio}

var printing sync.Mutex

func main() {
	run, known := members[os.Args[1]]
	if !known {
		fmt.Fprintln(os.Stderr, "unknown client", os.Args[1])
		os.Exit(2)
	}
	ctx, leave := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		leave()
	}()
	if err := run(ctx, strings.Split(os.Args[2], ","), os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func printAssigned(partitions []int32) {
	slices.Sort(partitions)
	words := []string{"assigned"}
	for _, partition := range partitions {
		words = append(words, fmt.Sprint(partition))
	}
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(strings.Join(words, " "))
}

func printRecord(partition int32, offset int64, value []byte) {
	printing.Lock()
	defer printing.Unlock()
	fmt.Printf("record %d %d %s\n", partition, offset, value)
}
