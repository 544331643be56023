<?php

// The relation algorithm as published for PHP and Redis, with one call per command: a page of followers, each user's
// profile, and the intersections of the page with the viewer's two lists.

const TOKEN_BYTES = 40;

function fail(int $status): never
{
    http_response_code($status);
    exit;
}

function bearer(): string
{
    $token = str_replace('Bearer ', '', $_SERVER['HTTP_AUTHORIZATION'] ?? '');
    $bytes = base64_decode(strtr($token, '-_', '+/'));
    return strlen($bytes) === TOKEN_BYTES ? $bytes : fail(401);
}

function viewer(Redis $redis): int
{
    $token = bearer();
    $viewer = unpack('J', $token)[1];
    $session = $redis->hGet("ff:{u$viewer}:sessions", hash('sha256', $token, true));
    return $session === false ? fail(401) : $viewer;
}

function relations(Redis $redis, int $viewer, array $page): array
{
    $find = "ff:{u$viewer}:find:" . bin2hex(random_bytes(8));
    foreach ($page as $user) {
        $redis->zAdd($find, 0, $user);
    }
    $redis->expire($find, 10);
    $redis->zInterStore("$find:a", [$find, "ff:{u$viewer}:following"]);
    $redis->zInterStore("$find:b", [$find, "ff:{u$viewer}:followers"]);
    $following = array_flip($redis->zRange("$find:a", 0, -1));
    $followers = array_flip($redis->zRange("$find:b", 0, -1));
    $redis->del($find, "$find:a", "$find:b");
    $status = fn ($user) => isset($following[$user])
        ? (isset($followers[$user]) ? 'MUTUAL' : 'FOLLOWING')
        : (isset($followers[$user]) ? 'FOLLOWER' : 'NONE');
    return array_combine($page, array_map($status, $page));
}

function node(Redis $redis, int $viewer, string $user, string $status): array
{
    $profile = $redis->hMGet("ff:{u$user}:user", ['username', 'display_name']);
    return [
        'username' => $profile['username'],
        'displayName' => $profile['display_name'],
        'relation' => (int) $user === $viewer ? null : ['status' => $status],
    ];
}

$redis = new Redis();
$server = parse_url(getenv('REDIS_URL'));
$redis->pconnect($server['host'], $server['port']);
$viewer = viewer($redis);
$query = json_decode(file_get_contents('php://input'))->query ?? '';
preg_match('/^{ user\(by: { username: "(\w+)" }\) { followers\(first: (\d+)\)/', $query, $asked) ?: fail(400);
[, $username, $first] = $asked;
$shard = crc32($username) % (int) getenv('NAME_SHARDS');
$user = $redis->hGet("ff:name:{n$shard}", $username);
$page = $redis->zRevRange("ff:{u$user}:followers", 0, $first - 1);
$relations = relations($redis, $viewer, $page);
$nodes = [];
foreach ($page as $follower) {
    $nodes[] = node($redis, $viewer, $follower, $relations[$follower]);
}
header('content-type: application/json');
echo json_encode(['data' => ['user' => ['followers' => ['nodes' => $nodes]]]], JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
