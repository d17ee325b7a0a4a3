"""The rights that each API needs: the tables of brokers and of controllers, and the rules in them."""
