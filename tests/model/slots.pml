/* One series file with one writer and two readers, as in src/series/slot_protocol.hpp and the loops around it in writer.cpp,
 * writer_wait.cpp, reader.cpp, reader_copy.cpp and reader_open.cpp. The comments name the functions.
 *
 * Memory is weak: every process stores into a buffer of its own, and drain() moves the stores to memory at any later moment
 * and in any order that C++ allows: stores to one address stay in order, a release store or a release fence waits for all
 * before it, a sequentially consistent fence (and a read-modify-write with release) for the buffer to be empty. Loads happen
 * in order (in the code they are acquire loads, or a fence stands between them), but for those of one copy, which come in
 * either order. A futex sleep is one atomic comparison; nobody wakes up by time, so that a lost wake-up is a deadlock.
 *
 * Checked: a delivered step is whole; a holder that nobody released loses nothing; a required reader gets every step from
 * ordinal 0 on; what is announced as published has been written; who reads to the end has passed every ordinal; nobody sleeps for ever.
 *
 * Chosen with -D: MODE0, MODE1 (0 hold, 1 follow), REQUIRED (1: a reserved entry keeps all for reader 0), EVICT (1: the
 * writer may release a holder that blocks it), MORTAL (1: readers may die), LEAVES (1: readers may close early), SLOTS, STEPS,
 * UP_TO (steps of one read). The mutants, each to be found wrong by tests/model/check, are the names after #ifdef and #ifndef. */
#ifndef MODE0
#define MODE0 0
#endif
#ifndef MODE1
#define MODE1 1
#endif
#ifndef REQUIRED
#define REQUIRED 0
#endif
#ifndef EVICT
#define EVICT 0
#endif
#ifndef MORTAL
#define MORTAL 0
#endif
#ifndef LEAVES
#define LEAVES 0
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef STEPS
#define STEPS 4
#endif
#ifndef UP_TO
#define UP_TO 2
#endif

/* ---- memory ---- */

#define NOBODY_SLEEPS 255
#define FREE 0
#define OPENING 1
#define HOLDING 2
#define RESERVED 3
#define EVICTED 4
#define ENTRIES 3

#define STAMP(slot) (slot)
#define DATA(slot) (SLOTS + (slot))
#define STEP(slot) (2 * SLOTS + (slot))
#define PUBLISHED (3 * SLOTS)
#define WAKE_AT (3 * SLOTS + 1)
#define CLOSED (3 * SLOTS + 2)
#define CLAIMED (3 * SLOTS + 3)
#define WANTED (3 * SLOTS + 4)
#define OWNER(entry) (3 * SLOTS + 5 + (entry))
#define CONSUMED(entry) (3 * SLOTS + 5 + ENTRIES + (entry))
#define CELLS (3 * SLOTS + 5 + 2 * ENTRIES)

byte memory[CELLS];
/* The futex words, SeriesPublished::word of the readers and SeriesReleased::word of the writer, are only added to and only
 * compared with what was read before: per sleeper it is enough to know whether the word has changed since. 1 where nobody
 * has read it. */
bit changed[3] = 1;
byte entries_used;  /* only raised by compare-and-swap */
bool dead[2];

/* ---- store buffers: of the writer, and of the readers ---- */

#define ROOM 8
#define FENCE_MARK 255 /* an entry that holds back all behind it */
#define NONE 254

typedef Buffer {
  byte count;
  byte address[ROOM];
  byte value[ROOM];
  bit release[ROOM]; /* waits for all before it */
};
Buffer buffers[3];

#define load(address_) memory[address_]

inline buffer_store(who, address_, value_, release_) {
  assert(buffers[who].count < ROOM);
  buffers[who].address[buffers[who].count] = address_;
  buffers[who].value[buffers[who].count] = value_;
  buffers[who].release[buffers[who].count] = release_;
  buffers[who].count++
}
inline store_relaxed(who, address_, value_) { d_step { buffer_store(who, address_, value_, 0) } }
inline store_release(who, address_, value_) { d_step { buffer_store(who, address_, value_, 1) } }
inline fence_release(who) {
  d_step {
    if
    :: buffers[who].count > 0 -> buffer_store(who, FENCE_MARK, 0, 0)
    :: else
    fi
  }
}
#define empty_buffer(who) (buffers[who].count == 0)
inline fence_seq_cst(who) { empty_buffer(who) }

/* May entry i go to memory now? Entries before it with the same address, and fence marks, hold it back; a release waits for all. */
#define apart(who, i, j) (buffers[who].address[j] != buffers[who].address[i] && buffers[who].address[j] != FENCE_MARK)
#define may_go(who, i) (buffers[who].count > i && buffers[who].address[i] != FENCE_MARK && \
  (i == 0 || buffers[who].release[i] == 0) && \
  (i < 1 || apart(who, i, 0)) && (i < 2 || apart(who, i, 1)) && (i < 3 || apart(who, i, 2)) && \
  (i < 4 || apart(who, i, 3)) && (i < 5 || apart(who, i, 4)) && (i < 6 || apart(who, i, 5)))
inline go(who, i) {
  memory[buffers[who].address[i]] = buffers[who].value[i];
  k = i;
  remove_entry(who);
  if
  :: buffers[who].count > 0 && buffers[who].address[0] == FENCE_MARK -> k = 0; remove_entry(who)
  :: else
  fi;
  k = 0
}
inline remove_entry(who) {
  buffers[who].count--;
  do
  :: k < buffers[who].count ->
     buffers[who].address[k] = buffers[who].address[k + 1];
     buffers[who].value[k] = buffers[who].value[k + 1];
     buffers[who].release[k] = buffers[who].release[k + 1];
     k++
  :: else -> break
  od;
  buffers[who].address[buffers[who].count] = 0;
  buffers[who].value[buffers[who].count] = 0;
  buffers[who].release[buffers[who].count] = 0
}
proctype drain(byte who) {
  byte k = 0;
end:
  do
  :: d_step { may_go(who, 0) -> go(who, 0) }
  :: d_step { may_go(who, 1) -> go(who, 1) }
  :: d_step { may_go(who, 2) -> go(who, 2) }
  :: d_step { may_go(who, 3) -> go(who, 3) }
  :: d_step { may_go(who, 4) -> go(who, 4) }
  :: d_step { may_go(who, 5) -> go(who, 5) }
  :: d_step { may_go(who, 6) -> go(who, 6) }
  od
}

/* ---- what both sides compute ---- */

#define stamp_writing(ordinal) (2 * (ordinal) + 1)
#define stamp_there(ordinal) (2 * (ordinal) + 2)
#define content(ordinal) ((ordinal) + 1)
#define slot_of(ordinal) ((ordinal) % SLOTS)
#define oldest_retained(claimed_) ((claimed_) > SLOTS -> (claimed_) - SLOTS : 0)

/* ---- the writer ---- */

#define WRITER 2

/* find_blocker: the first entry that has not consumed `needed`; ENTRIES: none. */
inline find_blocker() {
  used = entries_used;
  blocker = 0;
  do
  :: blocker >= used -> blocker = ENTRIES; break
  :: blocker < used ->
     if
     :: atomic { load(OWNER(blocker)) != HOLDING && load(OWNER(blocker)) != RESERVED -> blocker++ }
     :: atomic { else -> skip };
        if
        :: atomic { load(CONSUMED(blocker)) < needed -> break }
        :: atomic { else -> blocker++ }
        fi
     fi
  od;
  used = 0
}

/* try_claim: blocker == ENTRIES where the slot is the writer's. */
inline try_claim() {
#ifndef CLAIM_ANNOUNCED_LATE
  store_release(WRITER, CLAIMED, ordinal + 1);
#endif
  blocker = ENTRIES;
  if
  :: ordinal < SLOTS
  :: else ->
#ifndef NO_FENCE_IN_CLAIM
     fence_seq_cst(WRITER);
#endif
     find_blocker();
     if
     :: blocker < ENTRIES -> store_release(WRITER, CLAIMED, ordinal)
     :: else
     fi
  fi;
#ifdef CLAIM_ANNOUNCED_LATE
  if
  :: blocker == ENTRIES -> store_release(WRITER, CLAIMED, ordinal + 1)
  :: else
  fi
#endif
}

/* Writer::examine_blocker, where its time has come: a dead holder is released, a slow one evicted (replace_owner: a
 * compare-and-swap with acquire and release). */
inline examine_blocker() {
  empty_buffer(WRITER);
  if
  :: atomic { blocker < 2 && dead[blocker] && load(OWNER(blocker)) == HOLDING -> memory[OWNER(blocker)] = FREE }
  :: atomic { EVICT && blocker < 2 && load(OWNER(blocker)) == HOLDING -> memory[OWNER(blocker)] = EVICTED }
  :: skip
  fi
}

/* Writer::wait_for_holders; prepare_writer_sleep. Time slices end a sleep beside a dead holder, not one that was forgotten. */
inline wait_for_holders() {
  do
  :: try_claim();
     if
     :: blocker == ENTRIES -> break
     :: else
     fi;
     if
     :: (EVICT || MORTAL) -> examine_blocker()
     :: changed[WRITER] = 0;
        store_relaxed(WRITER, WANTED, needed);
#ifndef NO_FENCE_BEFORE_WRITER_SLEEPS
        fence_seq_cst(WRITER);
#endif
        find_blocker();
        if
        :: blocker == ENTRIES
        :: else -> (changed[WRITER] || dead[0] || dead[1]) /* futex_wait */
        fi;
        changed[WRITER] = 1
     fi
  od;
  store_relaxed(WRITER, WANTED, 0)
}

/* begin_write, the copy, end_write */
inline write_slot() {
#ifdef STAMP_ODD_AFTER_FIRST_WRITE
  store_relaxed(WRITER, DATA(slot_of(ordinal)), content(ordinal));
#endif
  store_relaxed(WRITER, STAMP(slot_of(ordinal)), stamp_writing(ordinal));
#ifndef NO_FENCE_BEHIND_ODD_STAMP
  fence_release(WRITER);
#endif
#ifndef STAMP_ODD_AFTER_FIRST_WRITE
  store_relaxed(WRITER, DATA(slot_of(ordinal)), content(ordinal));
#endif
  store_relaxed(WRITER, STEP(slot_of(ordinal)), content(ordinal));
  store_release(WRITER, STAMP(slot_of(ordinal)), stamp_there(ordinal))
}

inline add_to_readers_word() { atomic { empty_buffer(WRITER) -> changed[0] = 1; changed[1] = 1 } }

/* publish: sleepers is what wake_at said */
inline publish() {
#ifndef PUBLISHED_AFTER_LOOKING_FOR_SLEEPERS
  store_release(WRITER, PUBLISHED, ordinal + 1);
#endif
#ifndef NO_FENCE_IN_PUBLISH
  fence_seq_cst(WRITER);
#endif
  sleepers = load(WAKE_AT);
#ifdef PUBLISHED_AFTER_LOOKING_FOR_SLEEPERS
  store_release(WRITER, PUBLISHED, ordinal + 1);
#endif
  if
  :: ordinal + 1 < sleepers
  :: else ->
     store_relaxed(WRITER, WAKE_AT, NOBODY_SLEEPS);
     add_to_readers_word() /* fetch_add with release, futex_wake */
  fi;
  sleepers = 0
}

/* Writer::claim_slot, publish_slot, and close at the end */
proctype writer() {
  byte ordinal = 0, needed = 0, blocker = 0, used = 0, sleepers = 0;
  do
  :: ordinal < STEPS ->
     needed = (ordinal >= SLOTS -> ordinal - SLOTS + 1 : 0);
     try_claim();
     if
     :: blocker < ENTRIES -> wait_for_holders()
     :: else
     fi;
     blocker = 0;
     needed = 0;
#ifdef PUBLISHED_BEFORE_STAMP
     publish();
     write_slot();
#else
     write_slot();
     publish();
#endif
     ordinal++
  :: else -> break
  od;
  store_release(WRITER, CLOSED, 1);
  fence_seq_cst(WRITER);
  store_relaxed(WRITER, WAKE_AT, NOBODY_SLEEPS);
  add_to_readers_word()
}

/* ---- a reader ---- */

/* release_wakes */
inline release_wakes(consumed_) {
#ifndef NO_FENCE_IN_RELEASE
  fence_seq_cst(self);
#endif
  if
  :: atomic { load(WANTED) == 0 || consumed_ < load(WANTED) -> skip }
  :: atomic { else -> empty_buffer(self) -> changed[WRITER] = 1 } /* fetch_add with release, futex_wake */
  fi
}

/* Reader::release_consumed */
inline release_consumed() {
  if
  :: holds ->
     store_release(self, CONSUMED(self), next);
     release_wakes(next)
  :: else
  fi
}

/* settle_hold: the first ordinal that is safe into `first` */
inline settle_hold() {
#ifndef NO_FENCE_OPENING_A_HOLD
  fence_seq_cst(self);
#endif
  found = load(CLAIMED);
  first = (next > oldest_retained(found) -> next : oldest_retained(found));
  found = 0
}

/* wanted_start with From::oldest, into `next` */
inline wanted_start() {
  found = load(PUBLISHED);
  next = load(CLAIMED);
  next = (oldest_retained(next) < found -> oldest_retained(next) : found);
  found = 0
}

/* Reader::release_reservations: replace_owner with acquire and release, wake_writer */
inline release_reservation() {
  if
  :: REQUIRED && self == 0 ->
     atomic { empty_buffer(self) -> memory[OWNER(2)] = FREE };
     release_wakes(255)
  :: else
  fi
}

/* Reader::take_hold (take_entry), hold_from (announce_hold, settle_hold), start. Entries are taken by compare-and-swap from
 * 0, so that two readers never have the same: here reader r takes entry r. */
inline open_hold() {
  atomic { memory[OWNER(self)] = OPENING; entries_used = (entries_used > self + 1 -> entries_used : self + 1) };
  wanted_start();
#ifdef RESERVATION_DROPPED_BEFORE_HOLD
  release_reservation();
#endif
  if
  :: REQUIRED && self == 0 && load(OWNER(2)) == RESERVED -> next = (next < load(CONSUMED(2)) -> next : load(CONSUMED(2)))
  :: else
  fi;
  store_relaxed(self, CONSUMED(self), next);
  store_release(self, OWNER(self), HOLDING);
  do
  :: settle_hold();
     if
     :: first > next && REQUIRED && self == 0 && load(OWNER(2)) == RESERVED
     :: else -> break
     fi
  od;
  next = first;
  release_consumed();
#ifndef RESERVATION_DROPPED_BEFORE_HOLD
  release_reservation();
#endif
  assert(!(REQUIRED && self == 0) || first == 0);
  first = 0
}

/* Was this holder's entry taken away, so that it may lose steps? */
#define still_held (holds && load(OWNER(self)) == HOLDING)

/* begin_read or end_read with what `stamp_` is in memory */
inline look_at_stamp() {
  atomic {
    whole = (load(STAMP(slot_of(next + number))) == stamp_there(next + number));
    /* what is published has been written, also if it is overwritten by now */
    assert(load(STAMP(slot_of(next + number))) >= stamp_there(next + number));
    assert(whole || !still_held)
  }
}

/* Reader::copy_step: step and data are read by relaxed loads, in whatever order */
inline copy_step() {
  look_at_stamp();
  if
  :: whole ->
     if
     :: step = load(STEP(slot_of(next + number))); data = load(DATA(slot_of(next + number)))
     :: data = load(DATA(slot_of(next + number))); step = load(STEP(slot_of(next + number)))
     fi;
#ifndef STAMP_CHECKED_ONCE
     look_at_stamp();
#endif
     if
     :: atomic { whole -> assert(data == content(next + number) && step == content(next + number)) }
     :: else /* torn */
     fi
  :: else /* lost */
  fi;
  data = 0;
  step = 0;
  whole = 0
}

/* Reader::copy_steps: a batch, released as one */
inline copy_steps() {
  number = 0;
  do
  :: number < count -> copy_step(); number++
  :: else -> break
  od;
  number = 0;
  next = next + count;
  count = 0;
  release_consumed()
}

/* prepare_sleep for the next ordinal, then futex_wait */
inline sleep_for_a_step() {
#ifndef WORD_READ_AFTER_WAKE_AT
  changed[self] = 0;
#endif
  atomic { memory[WAKE_AT] = (load(WAKE_AT) > next + 1 -> next + 1 : load(WAKE_AT)) }; /* compare-and-swap */
  fence_seq_cst(self);
#ifdef WORD_READ_AFTER_WAKE_AT
  found = load(PUBLISHED);
  changed[self] = 0;
#else
  found = load(PUBLISHED);
#endif
  if
  :: found >= next + 1
  :: else ->
     if
     :: load(CLOSED)
     :: else -> changed[self]
     fi
  fi;
  found = 0;
  changed[self] = 1
}

/* Reader::detach: replace_owner, wake_writer */
inline detach() {
  if
  :: holds ->
     atomic { empty_buffer(self) -> if :: load(OWNER(self)) == HOLDING -> memory[OWNER(self)] = FREE :: else fi };
     release_wakes(255)
  :: else
  fi
}

/* Reader::open, read until the end, close */
proctype reader(byte self; bool holds) {
  byte next = 0, first = 0, number = 0, count = 0, found = 0, data = 0, step = 0;
  bool whole = 0, closed = 0;
  if
  :: holds -> open_hold()
  :: else -> wanted_start()
  fi;
  do
  :: MORTAL -> dead[self] = 1; goto gone
  :: LEAVES -> break
  :: load(OWNER(self)) == EVICTED -> break /* Reader::check_holds */
  :: load(OWNER(self)) != EVICTED ->
     closed = load(CLOSED); /* Reader::look: closed first */
     found = load(PUBLISHED);
     if
     :: !holds -> /* Reader::wait_for: a follower passes what is overwritten */
        count = load(CLAIMED);
        count = (oldest_retained(count) < found -> oldest_retained(count) : found);
        atomic {
          if
          :: count > next -> next = count /* lost */
          :: else
          fi;
          count = 0
        }
     :: else
     fi;
     if
     :: found > next -> count = (found - next < UP_TO -> found - next : UP_TO); found = 0; closed = 0; copy_steps()
     :: found <= next && closed -> break
     :: else -> found = 0; closed = 0; sleep_for_a_step()
     fi
  od;
  if
  :: closed -> assert(next == STEPS)
  :: else
  fi;
  detach();
gone:
  skip
}

init {
  atomic {
    memory[WAKE_AT] = NOBODY_SLEEPS;
    if
    :: REQUIRED -> memory[OWNER(2)] = RESERVED; entries_used = 3
    :: else
    fi;
    run drain(0);
    run drain(1);
    run drain(WRITER);
    run writer();
    run reader(0, MODE0 == 0);
    run reader(1, MODE1 == 0)
  }
}
