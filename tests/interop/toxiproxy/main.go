// Drives the wire faults of broker-sim with Toxiproxy's own client, as an existing test of a Go service does.
//
// Usage: go run . CONTROL_ADDRESS BROKER_ADDRESS. One line is printed per step.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"sort"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
)

// A frame with a version of ApiVersions that no broker has: it responds at once.
var apiVersions = []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 255, 255}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// exchange returns how long a broker takes to respond, or false if it does not.
func exchange(address string) (time.Duration, bool) {
	connection, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return 0, false
	}
	defer connection.Close()
	check(connection.SetDeadline(time.Now().Add(20 * time.Second)))
	began := time.Now()
	if _, err := connection.Write(apiVersions); err != nil {
		return 0, false
	}
	if _, err := io.ReadFull(connection, make([]byte, 8)); err != nil {
		return 0, false
	}
	return time.Since(began), true
}

func main() {
	client := toxiproxy.NewClient(os.Args[1])
	broker := os.Args[2]
	proxies, err := client.Proxies()
	check(err)
	names := []string{}
	for name := range proxies {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Println("proxies", names)

	proxy, err := client.CreateProxy("kafka", "127.0.0.1:0", broker)
	check(err)
	fmt.Println("listens", proxy.Listen == broker, "enabled", proxy.Enabled)

	_, err = proxy.AddToxic("slow", "latency", "downstream", 1.0, toxiproxy.Attributes{"latency": 300})
	check(err)
	took, ok := exchange(broker)
	fmt.Println("latency", ok, took >= 300*time.Millisecond)

	_, err = proxy.UpdateToxic("slow", 1.0, toxiproxy.Attributes{"latency": 600})
	check(err)
	took, ok = exchange(broker)
	fmt.Println("updated", ok, took >= 600*time.Millisecond)
	toxics, err := proxy.Toxics()
	check(err)
	fmt.Println("toxics", len(toxics), toxics[0].Name, toxics[0].Type, toxics[0].Attributes["latency"])
	check(proxy.RemoveToxic("slow"))

	check(proxy.Disable())
	_, ok = exchange(broker)
	fmt.Println("disabled", ok)
	check(proxy.Enable())
	_, ok = exchange(broker)
	fmt.Println("enabled", ok)

	_, err = proxy.AddToxic("cut", "limit_data", "downstream", 1.0, toxiproxy.Attributes{"bytes": 3})
	check(err)
	_, ok = exchange(broker)
	fmt.Println("limit_data", ok)
	check(client.ResetState())
	_, ok = exchange(broker)
	fmt.Println("reset", ok)

	_, err = client.Populate([]toxiproxy.Proxy{{Name: "again", Listen: "127.0.0.1:0", Upstream: broker, Enabled: true}})
	check(err)
	_, err = client.AddToxic(&toxiproxy.ToxicOptions{
		ProxyName: "again", ToxicName: "gone", ToxicType: "reset_peer", Toxicity: 1,
		Attributes: toxiproxy.Attributes{"timeout": 0}, Stream: "upstream",
	})
	check(err)
	_, ok = exchange(broker)
	fmt.Println("reset_peer", ok)
	check(client.RemoveToxic(&toxiproxy.ToxicOptions{ProxyName: "again", ToxicName: "gone"}))
	found, err := client.Proxy("again")
	check(err)
	check(found.Delete())
	_, err = client.Proxy("nowhere")
	fmt.Println("unknown", err)
}
