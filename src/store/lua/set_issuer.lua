-- Records the node that is going to issue the first post id of a new store in a cluster, so that a replica that takes
-- over before it has received any id is known to be another node.
-- KEYS[1]  the node that has issued the last id
-- ARGV[1]  none
-- Returns  1 if the node was recorded, 0 if one was recorded before
return redis.call('SET', KEYS[1], redis.call('CLUSTER', 'MYID'), 'NX') and 1 or 0
