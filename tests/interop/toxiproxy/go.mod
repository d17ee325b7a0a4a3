module broker-sim/tests/interop/toxiproxy

go 1.18

require github.com/Shopify/toxiproxy/v2 v2.5.0
