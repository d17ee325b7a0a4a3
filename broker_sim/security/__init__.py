"""The authorizer: access control lists, and the decision whether a principal may do an operation on a resource."""
