"""Links between the nodes of a cluster: messages by reference, over connections that can be slow, held or cut."""
