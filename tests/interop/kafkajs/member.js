// Joins a consumer group with kafkajs; arguments and output are those of ../go_groups/main.go, without the client.
const { Kafka, logLevel } = require('kafkajs')

const [servers, groupId, topic] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'member', brokers: servers.split(','), logLevel: logLevel.NOTHING })
const consumer = kafka.consumer({ groupId, heartbeatInterval: 100, maxWaitTimeInMs: 100 })

async function run() {
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    const partitions = payload.memberAssignment[topic] || []
    console.log(['assigned', ...partitions.sort((a, b) => a - b)].join(' '))
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      const offset = (BigInt(message.offset) + 1n).toString()
      await consumer.commitOffsets([{ topic, partition, offset }])
      console.log(`record ${partition} ${message.offset} ${message.value}`)
    },
  })
}

process.stdin.resume()
process.stdin.on('end', () => consumer.disconnect().then(() => process.exit(0)))
run().catch(error => {
  console.error(error)
  process.exit(1)
})
