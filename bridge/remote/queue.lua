-- The operations of the queue (bridge/remote/queue.py), each as a whole.
--
-- KEYS[1] is what an operation is about: an entry, or the list of machines. ARGV is its
-- name, the prefix of all keys, the group of the streams, and what stands above it.
local op = table.remove(ARGV, 1)
local prefix, key = ARGV[1], KEYS[1]
local ops = {}

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function tell(prefix, address, what, entry)
  if not address or address == '' then return end
  local key = prefix .. ':to:' .. address
  redis.call('XADD', key, 'MAXLEN', '~', 10000, '*', 'what', what, 'entry', entry)
  redis.call('PEXPIRE', key, 86400000)
end
local function at(key, name) return redis.call('HGET', key, name) end
local function is_hash(key) return redis.call('TYPE', key)['ok'] == 'hash' end
-- Take an entry out of its stream, and forget a kind of which nothing is left.
local function drop(prefix, stream, eid, kind)
  if not stream or not eid or not kind then return end
  redis.call('XACK', stream, ARGV[2], eid)
  redis.call('XDEL', stream, eid)
  if redis.call('XLEN', stream) > 0 then return end
  redis.call('DEL', stream)
  for _, level in ipairs({'high', 'normal', 'low'}) do
    local other = prefix .. ':s:' .. level .. ':' .. kind
    if redis.call('EXISTS', other) == 1 then return end
  end
  redis.call('HDEL', prefix .. ':kinds', kind)
end
local function add(prefix, level, kind, entry)
  local stream = prefix .. ':s:' .. level .. ':' .. kind
  if redis.call('EXISTS', stream) == 0 then
    redis.call('XGROUP', 'CREATE', stream, ARGV[2], '0', 'MKSTREAM')
  end
  local eid = redis.call('XADD', stream, '*', 'entry', entry)
  redis.call('XADD', prefix .. ':news', 'MAXLEN', '~', 1000, '*', 'kind', kind)
  return stream, eid
end

-- entry, request, needs, kind, level, left_ms, tries, to, machine
function ops.put()
  local entry, kind = ARGV[3], ARGV[6]
  if is_hash(key) then
    redis.call('HSET', key, 'to', ARGV[10])
    local found = redis.call('HMGET', key, 'state', 'epoch', 'by')
    return {found[1] or '', found[2] or '0', found[3] or ''}
  end
  redis.call('DEL', key)
  redis.call('HSETNX', prefix .. ':kinds', kind, ARGV[5])
  local stream, eid = add(prefix, ARGV[7], kind, entry)
  redis.call('HSET', key, 'request', ARGV[4], 'kind', kind, 'level', ARGV[7], 'state',
    'waiting', 'epoch', 0, 'deadline', now() + ARGV[8], 'tries', ARGV[9], 'lost', 0,
    'to', ARGV[10], 'from', ARGV[11], 'stream', stream, 'eid', eid)
  redis.call('PEXPIRE', key, ARGV[8] + ARGV[12])
  return {'waiting', '0', ''}
end

-- address, machine, lease_ms, kept_ms, turn, kinds…
function ops.take()
  local me, lease, count = ARGV[3], tonumber(ARGV[5]), #ARGV - 7
  local function try(stream, kind, eid, fields)
    local name = fields and fields[1] == 'entry' and fields[2] or ''
    local key = prefix .. ':r:' .. name
    if name == '' or #name > 200 or not is_hash(key) then
      return drop(prefix, stream, eid, kind)
    end
    local f = redis.call('HMGET', key, 'state', 'lease', 'deadline', 'epoch', 'lost',
      'tries', 'request', 'to', 'from', 'eid')
    local t, state = now(), f[1]
    if state == 'held' and (tonumber(f[2]) or 0) > t and f[10] == eid then return end
    if (state ~= 'waiting' and state ~= 'held') or f[10] ~= eid or not f[7] then
      return drop(prefix, stream, eid, kind)
    end
    local lost = (tonumber(f[5]) or 0) + (state == 'held' and 1 or 0)
    local left = (tonumber(f[3]) or 0) - t
    local over = left <= 0 and 'expired' or lost >= (tonumber(f[6]) or 1) and 'lost'
    if over then
      redis.call('HSET', key, 'state', over)
      redis.call('PEXPIRE', key, ARGV[6])
      drop(prefix, stream, eid, kind)
      return tell(prefix, f[8], over, name)
    end
    local epoch = (tonumber(f[4]) or 0) + 1
    redis.call('HSET', key, 'state', 'held', 'epoch', epoch, 'lease', t + lease, 'by',
      ARGV[4], 'holder', me, 'lost', lost)
    redis.call('HINCRBY', prefix .. ':counts', 'taken', 1)
    tell(prefix, f[8], 'held', name)
    return {name, epoch, left, f[7], f[9] or ''}
  end
  local function look(stream, kind)
    local cursor = '0-0'
    repeat
      local got = redis.pcall('XAUTOCLAIM', stream, ARGV[2], me, lease, cursor,
        'COUNT', 8)
      if got['err'] then return end
      for _, each in ipairs(got[2]) do
        local taken = each and each[1] and try(stream, kind, each[1], each[2])
        if taken then return taken end
      end
      cursor = got[1]
    until cursor == '0-0'
    for _ = 1, 64 do
      if redis.call('EXISTS', stream) == 0 then return end
      local got = redis.pcall('XREADGROUP', 'GROUP', ARGV[2], me, 'COUNT', 1, 'STREAMS',
        stream, '>')
      if not got or got['err'] then return end
      local each = got[1][2][1]
      local taken = try(stream, kind, each[1], each[2])
      if taken then return taken end
    end
  end
  local turn = tonumber(redis.call('HGET', prefix .. ':counts', 'taken') or '0') or 0
  local levels = {'high', 'normal', 'low'}
  if turn % tonumber(ARGV[7]) == tonumber(ARGV[7]) - 1 then
    levels = {'low', 'normal', 'high'}
  end
  for _, level in ipairs(levels) do
    for i = 1, count do
      local kind = ARGV[7 + 1 + (i + turn) % count]
      local stream = prefix .. ':s:' .. level .. ':' .. kind
      if redis.call('TYPE', stream)['ok'] == 'stream' then
        local taken = look(stream, kind)
        if taken then return taken end
      end
    end
  end
  local last = redis.pcall('XREVRANGE', prefix .. ':news', '+', '-', 'COUNT', 1)
  return {(last[1] or {'0-0'})[1]}
end

-- epoch, address, lease_ms
function ops.renew()
  if not is_hash(key) then return 'unknown' end
  local f = redis.call('HMGET', key, 'state', 'epoch', 'stream', 'eid')
  if f[1] ~= 'held' or f[2] ~= ARGV[3] then return f[1] == 'held' and 'taken' or f[1] end
  redis.call('HSET', key, 'lease', now() + ARGV[5])
  redis.pcall('XCLAIM', f[3], ARGV[2], ARGV[4], 0, f[4], 'JUSTID')
  return 'held'
end

-- entry, epoch, answer, is_valid, machine, kept_ms, asker's machine
function ops.publish()
  local entry = ARGV[3]
  if not is_hash(key) then return 'unknown' end
  local f = redis.call('HMGET', key, 'state', 'epoch', 'stream', 'eid', 'to', 'holder',
    'kind')
  local mine = f[2] == ARGV[4]
  local open = f[1] == 'waiting' or f[1] == 'held'
  if not open or (not mine and ARGV[6] ~= '1') then
    local late = prefix .. ':late:' .. ARGV[9]
    redis.call('XADD', late, 'MAXLEN', '~', 100, '*', 'entry', entry, 'machine', ARGV[7],
      'answer', ARGV[5])
    redis.call('PEXPIRE', late, 86400000)
    return 'late'
  end
  redis.call('HSET', key, 'state', 'answered', 'answer', ARGV[5], 'by', ARGV[7])
  redis.call('HDEL', key, 'request')
  redis.call('PEXPIRE', key, ARGV[8])
  drop(prefix, f[3], f[4], f[7])
  tell(prefix, f[5], 'answered', entry)
  if not mine then tell(prefix, f[6], 'over', entry) end
  return 'won'
end

-- entry, epoch
function ops.hand_back()
  if not is_hash(key) then return 'unknown' end
  local f = redis.call('HMGET', key, 'state', 'epoch', 'stream', 'eid', 'kind', 'level')
  if f[1] ~= 'held' or f[2] ~= ARGV[4] then return 'taken' end
  drop(prefix, f[3], f[4], f[5])
  redis.call('HSETNX', prefix .. ':kinds', f[5], ARGV[5])
  local stream, eid = add(prefix, f[6], f[5], ARGV[3])
  redis.call('HSET', key, 'state', 'waiting', 'stream', stream, 'eid', eid)
  redis.call('HDEL', key, 'holder', 'by', 'lease')
  return 'waiting'
end

-- entry, kept_ms
function ops.cancel()
  if not is_hash(key) then return 'unknown' end
  local f = redis.call('HMGET', key, 'state', 'stream', 'eid', 'holder', 'kind')
  if f[1] ~= 'waiting' and f[1] ~= 'held' then return f[1] end
  redis.call('HSET', key, 'state', 'cancelled')
  redis.call('HDEL', key, 'request')
  redis.call('PEXPIRE', key, ARGV[4])
  drop(prefix, f[2], f[3], f[5])
  if f[1] == 'held' then tell(prefix, f[4], 'over', ARGV[3]) end
  return 'cancelled'
end

-- entry, name, value, to whom, what
function ops.say()
  if not is_hash(key) then return 0 end
  redis.call('HSET', key, ARGV[4], ARGV[5])
  tell(prefix, at(key, ARGV[6]), ARGV[7], ARGV[3])
  return 1
end

-- machine, offer
function ops.announce()
  local t = now()
  redis.call('HSET', key, ARGV[3], t .. ' ' .. ARGV[4])
  if redis.call('HLEN', key) > 1000 then
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do
      if (tonumber(string.match(all[i + 1], '^%d+')) or 0) < t - 86400000 then
        redis.call('HDEL', key, all[i])
      end
    end
  end
  return 1
end

return ops[op]()
