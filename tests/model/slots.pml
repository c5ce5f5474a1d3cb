/* One series file with one writer and two readers, as in src/series/slot_protocol.hpp and the loops around it in writer.cpp,
 * writer_wait.cpp, hold.cpp, reader*.cpp. The comments name the functions.
 *
 * Memory is weak: every process stores into a buffer of its own, and drain() moves the stores to memory at any later moment
 * and in any order that C++ allows: stores to one address stay in order, a release store or a release fence waits for all
 * before it, a sequentially consistent fence (and a read-modify-write with release) for the buffer to be empty. Loads happen
 * in order (in the code they are acquire loads, or a fence stands between them). Where a mutant weakens a release, the loads
 * before it may happen after it; the mutant then does them there. A futex sleep is one atomic comparison; nobody wakes up by
 * time except beside a process that has died, so that a lost wake-up is a deadlock.
 *
 * Checked: a delivered step is whole; a holder loses nothing while its entry is its own, and finds out before it delivers if it
 * is not; nobody moves an entry of another; a living holder is not released unless that was asked for (EVICT, RELEASE); a
 * required reader gets every step from ordinal 0 on; what is announced as published has been written; a reader that reads to
 * the end has passed every ordinal; nobody sleeps for ever; with -DNP and fairness: everybody comes to an end.
 *
 * Chosen with -D: MODE0, MODE1 (0 hold, 1 follow; MODE1 2: there is no second reader), REQUIRED (1: a reserved entry keeps all for reader 0), EVICT (1: the
 * writer may release a holder that blocks it), RELEASE (1: somebody releases a living holder, at any time), MORTAL (1: one reader may die at any moment),
 * WRITER_MORTAL (1: the writer may), GIVES_UP (1: the writer may stop waiting and close), LEAVES (1: readers may close early),
 * AGAIN (so often each reader opens again after it has closed), STRANGER (1: somebody else takes the entry of a released holder),
 * TABLE (entries for holders: with one, the second reader takes the entry that the first one had), SLOTS, STEPS, UP_TO (steps
 * of one read). The mutants, each to be found wrong by tests/model/check, are the names after #ifdef and #ifndef. */
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
#ifndef RELEASE
#define RELEASE 0
#endif
#ifndef MORTAL
#define MORTAL 0
#endif
#ifndef WRITER_MORTAL
#define WRITER_MORTAL 0
#endif
#ifndef GIVES_UP
#define GIVES_UP 0
#endif
#ifndef LEAVES
#define LEAVES 0
#endif
#ifndef AGAIN
#define AGAIN 0
#endif
#ifndef STRANGER
#define STRANGER 0
#endif
#ifndef TABLE
#define TABLE 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef STEPS
#define STEPS 3
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
#define RESERVATION TABLE /* its entry */
#define ENTRIES (TABLE + 1)

#define STAMP(slot) (slot)
#define DATA(slot) (SLOTS + (slot))
#define PUBLISHED (2 * SLOTS)
#define WAKE_AT (2 * SLOTS + 1)
#define CLOSED (2 * SLOTS + 2)
#define CLAIMED (2 * SLOTS + 3)
#define CLAIM (2 * SLOTS + 4)
#define WANTED (2 * SLOTS + 5)
#define PASS_ON (2 * SLOTS + 6)
#define OWNER(entry) (2 * SLOTS + 7 + (entry))
#define CONSUMED(entry) (2 * SLOTS + 7 + ENTRIES + (entry))
#define CELLS (2 * SLOTS + 7 + 2 * ENTRIES)

/* The owner word: state, who, generation. The consumed word: ordinals, generation. The claim word: tentative, ordinals. */
#define owner_word(state_, who_, generation_) ((state_) | (who_) << 3 | (generation_) << 5)
#define state_of(word_) ((word_) & 7)
#define who_of(word_) ((word_) >> 3 & 3)
#define consumed_word(ordinals_, generation_) ((ordinals_) | (generation_) << 5)
#define ordinals_of(word_) ((word_) & 31)
#define generation_of(word_) ((word_) >> 5)
#define tentative(ordinals_) (2 * (ordinals_) + 1)
#define definite(ordinals_) (2 * (ordinals_))

byte memory[CELLS];
/* The futex words, SeriesPublished::word of the readers and SeriesReleased::word of the writer, are only added to and only
 * compared with what was read before: per sleeper it is enough to know whether the word has changed since. 1 where nobody
 * has read it. asleep: in futex_wait. */
bit changed[3] = 1;
bit asleep[2];
byte entries_used;  /* only raised by compare-and-swap */
bool dead[3];
bit told_to_die[3];
bit opened;  /* the hub's word: the required reader has opened */

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
     :: atomic { state_of(load(OWNER(blocker))) != HOLDING && state_of(load(OWNER(blocker))) != RESERVED -> blocker++ }
     :: atomic { else -> skip };
        if
        :: atomic { ordinals_of(load(CONSUMED(blocker))) < needed -> break }
        :: atomic { else -> blocker++ }
        fi
     fi
  od;
  used = 0
}

/* try_claim: blocker == ENTRIES where the slot is the writer's. */
inline try_claim() {
  blocker = ENTRIES;
  if
  :: ordinal < SLOTS
  :: else ->
     do
     :: store_relaxed(WRITER, CLAIM, tentative(ordinal + 1));
#ifndef NO_FENCE_IN_CLAIM
        fence_seq_cst(WRITER);
#endif
        find_blocker();
        if
        :: blocker < ENTRIES -> store_release(WRITER, CLAIM, definite(ordinal)); break
#ifdef CLAIM_NOT_COMPARED
        :: else -> store_release(WRITER, CLAIM, definite(ordinal + 1)); break
#else
        :: else ->
           if
           :: atomic { empty_buffer(WRITER) && load(CLAIM) == tentative(ordinal + 1) ->
                       memory[CLAIM] = definite(ordinal + 1) }; break
           :: atomic { empty_buffer(WRITER) && load(CLAIM) != tentative(ordinal + 1) -> skip } /* taken back: look again */
           fi
#endif
        fi
     od
  fi;
  if
  :: blocker == ENTRIES -> store_release(WRITER, CLAIMED, ordinal + 1)
  :: else
  fi
}

/* Writer::examine_blocker, where its time has come: a dead holder is released, a slow one evicted, and the reservation freed
 * when its program has opened (replace_owner: a compare-and-swap with acquire and release). */
inline examine_blocker() {
  empty_buffer(WRITER);
  if
#ifdef LIVING_HOLDER_FREED
  :: atomic { blocker < TABLE && state_of(load(OWNER(blocker))) == HOLDING -> memory[OWNER(blocker)] = FREE }
#endif
  :: atomic { blocker < TABLE && state_of(load(OWNER(blocker))) == HOLDING && dead[who_of(load(OWNER(blocker)))] ->
              memory[OWNER(blocker)] = FREE }
  :: atomic { EVICT && blocker < TABLE && state_of(load(OWNER(blocker))) == HOLDING ->
              memory[OWNER(blocker)] = memory[OWNER(blocker)] - HOLDING + EVICTED }
  :: atomic { blocker == RESERVATION && opened -> memory[OWNER(blocker)] = FREE }
  :: EVICT /* its time has not come */
  :: else
  fi
}

/* Writer::wait_for_holders; prepare_writer_sleep. Time slices end a sleep for what only the hub or a death tells. */
inline wait_for_holders() {
  do
  :: examine_blocker();
     changed[WRITER] = 0;
     store_relaxed(WRITER, WANTED, needed);
#ifndef NO_FENCE_BEFORE_WRITER_SLEEPS
     fence_seq_cst(WRITER);
#endif
     find_blocker();
     if
     :: blocker == ENTRIES
     :: else -> (changed[WRITER] || dead[0] || dead[1] || opened || EVICT || GIVES_UP) /* futex_wait */
     fi;
     changed[WRITER] = 1;
     try_claim();
     if
     :: blocker == ENTRIES -> break
     :: GIVES_UP && blocker < ENTRIES -> break
     :: else
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
  store_release(WRITER, STAMP(slot_of(ordinal)), stamp_there(ordinal))
}

/* word + 1 (with release), pass_on, then futex_wake of one sleeper, or of all */
inline wake_readers(all_) {
  atomic { empty_buffer(WRITER) -> changed[0] = 1; changed[1] = 1 };
#ifndef NOBODY_PASSES_ON
  store_release(WRITER, PASS_ON, 1);
#endif
  atomic {
    empty_buffer(WRITER) ->
    if
    :: all_ -> asleep[0] = 0; asleep[1] = 0
    :: else ->
       if
       :: asleep[0] -> asleep[0] = 0
       :: asleep[1] -> asleep[1] = 0
       :: !asleep[0] && !asleep[1]
       fi
    fi
  }
}

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
     wake_readers(0)
  fi;
  sleepers = 0
}

/* Writer::claim_slot, publish_slot, and close at the end */
proctype writer() {
  byte ordinal = 0, needed = 0, blocker = 0, used = 0, sleepers = 0;
  {
    do
    :: ordinal < STEPS ->
       needed = (ordinal >= SLOTS -> ordinal - SLOTS + 1 : 0);
       try_claim();
       if
       :: blocker < ENTRIES -> wait_for_holders()
       :: else
       fi;
       if
       :: blocker < ENTRIES -> break /* gave up */
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
    wake_readers(1)
  } unless {
    told_to_die[WRITER] && empty_buffer(WRITER) -> dead[WRITER] = 1
  }
}

/* ---- a reader ---- */

/* release_wakes. Without the fence the look at `wanted` may happen before the store in front of it. */
#ifdef NO_FENCE_IN_RELEASE
#define look_at_wanted_early() wanted = load(WANTED)
#define wanted_now wanted
#else
#define look_at_wanted_early() skip
#define wanted_now load(WANTED)
#endif
inline release_wakes(consumed_) {
  fence_seq_cst(self);
  if
  :: atomic { wanted_now == 0 || consumed_ < wanted_now -> skip }
  :: atomic { else -> empty_buffer(self) -> changed[WRITER] = 1 } /* fetch_add with release, futex_wake */
  fi
}

#define own_word owner_word(HOLDING, self, generation)

/* move_consumed: a compare-and-swap with release, behind a look at the owner */
inline move_consumed() {
  look_at_wanted_early();
#ifdef GENERATION_NOT_COMPARED
  atomic { empty_buffer(self) -> memory[CONSUMED(entry)] = consumed_word(next, generation_of(memory[CONSUMED(entry)])) };
  release_wakes(next)
#else
  if
  :: load(OWNER(entry)) != own_word
  :: else ->
     if
     :: atomic { empty_buffer(self) && generation_of(load(CONSUMED(entry))) == generation ->
                 memory[CONSUMED(entry)] = consumed_word(next, generation) };
        release_wakes(next)
     :: atomic { empty_buffer(self) && generation_of(load(CONSUMED(entry))) != generation -> skip }
     fi
  fi
#endif
}
inline release_consumed() {
  if
  :: holds -> move_consumed()
  :: else
  fi
}

/* wanted_start with From::oldest, into `next` */
inline wanted_start() {
  found = load(PUBLISHED);
  next = load(CLAIMED);
  next = (oldest_retained(next) < found -> oldest_retained(next) : found);
  found = 0
}

/* take_hold_entry, take_entry: the first free one; in a full table the dead are freed. Three steps: a look at consumed, which has
 * the last generation; compare-and-swap of owner; compare-and-swap of consumed, which fails if somebody else has had the entry
 * meanwhile: then it is given back, and the next look begins. */
inline take_entry() {
  do
  :: atomic {
       entry = (load(OWNER(0)) != FREE && TABLE > 1 -> TABLE - 1 : 0);
       found = load(CONSUMED(entry));
       generation = generation_of(found) + 1
     };
     if
     :: atomic { empty_buffer(self) && load(OWNER(entry)) == FREE ->
#ifdef OWNER_STORED_BEFORE_CONSUMED
                 memory[OWNER(entry)] = own_word;
#else
                 memory[OWNER(entry)] = owner_word(OPENING, self, generation);
#endif
                 entries_used = (entries_used > entry + 1 -> entries_used : entry + 1) };
#ifdef OWNER_STORED_BEFORE_CONSUMED
        break
#else
        if
#ifdef CONSUMED_NOT_COMPARED_WHEN_TAKEN
        :: atomic { empty_buffer(self) -> memory[CONSUMED(entry)] = consumed_word(0, generation) }; break
#else
        :: atomic { empty_buffer(self) && load(CONSUMED(entry)) == found ->
                    memory[CONSUMED(entry)] = consumed_word(0, generation) }; break
        :: atomic { empty_buffer(self) && load(CONSUMED(entry)) != found ->
                    if
                    :: (load(OWNER(entry)) & ~7) == (own_word & ~7) -> memory[OWNER(entry)] = FREE
                    :: else
                    fi }
#endif
        fi
#endif
     :: atomic { load(OWNER(entry)) != FREE && dead[who_of(load(OWNER(entry)))] && empty_buffer(self) ->
                 memory[OWNER(entry)] = FREE }
     :: atomic { load(OWNER(entry)) != FREE && !dead[who_of(load(OWNER(entry)))] -> skip }
     fi
  od;
  found = 0
}

/* begin_hold: two compare-and-swaps. released: somebody has given the entry back. */
inline store_first_consumed() {
  if
  :: atomic { empty_buffer(self) && load(CONSUMED(entry)) == consumed_word(0, generation) ->
              memory[CONSUMED(entry)] = consumed_word(next, generation) }
  :: atomic { empty_buffer(self) && load(CONSUMED(entry)) != consumed_word(0, generation) -> released = 1 }
  fi
}
inline store_holding() {
  if
  :: atomic { empty_buffer(self) && load(OWNER(entry)) == owner_word(OPENING, self, generation) ->
              memory[OWNER(entry)] = own_word }
  :: atomic { empty_buffer(self) && load(OWNER(entry)) != owner_word(OPENING, self, generation) -> released = 1 }
  fi
}

/* settle_hold: the first ordinal that is safe into `first` */
inline settle_hold() {
#ifndef NO_FENCE_OPENING_A_HOLD
  fence_seq_cst(self);
  found = load(CLAIM);
#endif
  do
#ifndef TENTATIVE_TAKEN_FOR_DEFINITE
  :: (found & 1) && oldest_retained(found >> 1) > next ->
     atomic {
       empty_buffer(self) ->
       if
       :: load(CLAIM) == found -> memory[CLAIM] = found - 3; found = found - 3
       :: else -> found = load(CLAIM)
       fi
     }
#endif
  :: else -> break
  od;
#ifdef TENTATIVE_TAKEN_FOR_DEFINITE
  first = found >> 1;
#else
  first = ((found & 1) -> (found >> 1) - 1 : found >> 1);
#endif
  first = (next > oldest_retained(first) -> next : oldest_retained(first));
  found = 0
}

/* Reader::take_hold, hold_from, start; then the hub is told (reader_opened) */
inline open_hold() {
  take_entry();
#ifdef RESERVATION_DROPPED_BEFORE_HOLD
  opened = REQUIRED && self == 0;
#endif
  wanted_start();
  if
  :: REQUIRED && self == 0 && state_of(load(OWNER(RESERVATION))) == RESERVED ->
     next = (next < ordinals_of(load(CONSUMED(RESERVATION))) -> next : ordinals_of(load(CONSUMED(RESERVATION))))
  :: else
  fi;
#ifdef NO_FENCE_OPENING_A_HOLD
  found = load(CLAIM); /* it may happen before the stores in front of it */
#endif
#ifndef OWNER_STORED_BEFORE_CONSUMED
  store_first_consumed();
  if
  :: !released -> store_holding()
  :: else
  fi;
#endif
  settle_hold();
  next = first;
#ifdef OWNER_STORED_BEFORE_CONSUMED
  atomic { empty_buffer(self) -> memory[CONSUMED(entry)] = consumed_word(next, generation) };
#endif
  release_consumed();
  assert(!(REQUIRED && self == 0) || first == 0 || released);
  first = 0;
  atomic { empty_buffer(self) -> opened = (opened || (REQUIRED && self == 0)) }
}

/* look_at_hold: is the entry still this turn's, and holding? */
#define still_held (holds && !released && load(OWNER(entry)) == own_word)
inline look_at_hold() {
  atomic {
    if
    :: holds && load(OWNER(entry)) != own_word ->
       assert(EVICT || RELEASE || dead[self]);
       released = 1
    :: else
    fi
  }
}

/* begin_read or end_read with what `stamp_` is in memory */
inline look_at_stamp() {
  atomic {
    whole = (load(STAMP(slot_of(next + number))) == stamp_there(next + number));
    /* what is published has been written, also if it is overwritten by now */
    assert(load(STAMP(slot_of(next + number))) >= stamp_there(next + number))
  }
}

/* Reader::copy_step */
inline copy_step() {
  look_at_stamp();
  if
  :: whole ->
     data = load(DATA(slot_of(next + number)));
#ifndef STAMP_CHECKED_ONCE
     look_at_stamp();
#endif
     if
     :: atomic { whole -> assert(data == content(next + number)) }
     :: else -> lost = 1 /* torn */
     fi
  :: else -> lost = 1
  fi;
  data = 0;
  whole = 0
}

/* Reader::copy_steps: a batch; the hold is looked at before it is delivered, and then the batch is released as one */
inline copy_steps() {
#ifdef CONSUMED_STORED_RELAXED
  next = next + count;
  move_consumed_of_a_batch();
  next = next - count;
#endif
#ifdef FREED_RELAXED
  if
  :: holds -> detach(); leaving = 1
  :: true
  fi;
#endif
  number = 0;
  do
  :: number < count -> copy_step(); number++
  :: else -> break
  od;
  number = 0;
#ifdef FREED_RELAXED
  if
  :: !leaving -> look_at_hold()
  :: else
  fi;
#else
  look_at_hold();
#endif
  assert(!holds || released || !lost);
  lost = 0;
  next = next + count;
  count = 0;
  if
  :: !released -> release_consumed()
  :: else
  fi
}
inline move_consumed_of_a_batch() {
  if
  :: holds && !released -> move_consumed()
  :: else
  fi
}

/* prepare_sleep for the next ordinal, then futex_wait, then pass_wake_on */
inline sleep_for_a_step() {
#ifndef WORD_READ_AFTER_WAKE_AT
  changed[self] = 0;
#endif
  atomic { memory[WAKE_AT] = (load(WAKE_AT) > next + 1 -> next + 1 : load(WAKE_AT)) }; /* compare-and-swap */
  fence_seq_cst(self);
  found = load(PUBLISHED);
#ifdef WORD_READ_AFTER_WAKE_AT
  changed[self] = 0;
#endif
  if
  :: found >= next + 1
  :: else ->
     if
     :: load(CLOSED)
     :: else ->
        atomic { asleep[self] = !changed[self] };
        (!asleep[self] || dead[1 - self] || dead[WRITER]);
        asleep[self] = 0;
        if
        :: atomic { load(PASS_ON) == 1 && empty_buffer(self) -> memory[PASS_ON] = 0 };
           atomic { asleep[0] = 0; asleep[1] = 0 }
        :: atomic { load(PASS_ON) == 0 -> skip }
        fi
     fi
  fi;
  found = 0;
  changed[self] = 1
}

/* give_up_hold: free_entry, wake_writer */
inline detach() {
  if
  :: holds ->
     look_at_wanted_early();
     atomic {
       empty_buffer(self) ->
       if
       :: (load(OWNER(entry)) & ~7) == (own_word & ~7) -> memory[OWNER(entry)] = FREE
       :: else
       fi
     };
     release_wakes(255)
  :: else
  fi
}

/* Reader::open, read until the end, close */
proctype reader(byte self; bool holds) {
  byte turns = 1 + AGAIN;
  byte next = 0, first = 0, number = 0, count = 0, found = 0, data = 0, entry = 0, generation = 0;
  bool whole = 0, closed = 0, released = 0, lost = 0;
#ifdef NO_FENCE_IN_RELEASE
  byte wanted = 0;
#endif
#ifdef FREED_RELAXED
  bool leaving = 0;
#endif
  {
    do
    :: turns == 0 -> break
    :: turns > 0 ->
    if
    :: holds -> open_hold()
    :: else -> wanted_start()
    fi;
    do
    :: LEAVES -> break
    :: true ->
       look_at_hold(); /* Reader::check_holds */
       if
       :: released -> break
       :: else
       fi;
#ifdef CLOSED_READ_AFTER_PUBLISHED
       found = load(PUBLISHED);
       closed = load(CLOSED);
#else
       closed = load(CLOSED);
       found = load(PUBLISHED);
#endif
       if
       :: !holds -> /* a follower passes what is overwritten */
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
       :: found > next ->
          count = (found - next < UP_TO -> found - next : UP_TO);
          found = 0;
          closed = 0;
          copy_steps();
#ifdef FREED_RELAXED
          if
          :: leaving -> break
          :: else
          fi
#endif
       :: found <= next && closed -> break
       :: found <= next && !closed && dead[WRITER] && load(PUBLISHED) <= next && !load(CLOSED) -> break
       :: found <= next && !closed && !dead[WRITER] -> found = 0; sleep_for_a_step()
       :: found <= next && !closed && dead[WRITER] && (load(PUBLISHED) > next || load(CLOSED)) -> found = 0
       fi
    od;
    if
    :: closed && !released -> assert(next == load(PUBLISHED))
    :: else
    fi;
    closed = 0;
    found = 0;
#ifdef FREED_RELAXED
    if
    :: !leaving -> detach()
    :: else
    fi;
#else
    detach();
#endif
    turns--;
    released = 0
    od
  } unless {
    told_to_die[self] && empty_buffer(self) -> asleep[self] = 0; dead[self] = 1
  }
}

/* Somebody dies; somebody releases a holder that lives, in the middle of whatever it does; then, with STRANGER, somebody else
 * takes the entry, holds it from ordinal 0 on, and finds it as it was left. Once each, or never. */
proctype fate() {
#if STRANGER
  byte generation = 0;
#endif
  if
  :: MORTAL -> told_to_die[0] = 1
  :: WRITER_MORTAL -> told_to_die[WRITER] = 1
  :: atomic {
       RELEASE && (state_of(load(OWNER(0))) == HOLDING || state_of(load(OWNER(0))) == OPENING) && who_of(load(OWNER(0))) == 0 ->
       memory[OWNER(0)] = FREE;
       changed[WRITER] = 1
     };
#if STRANGER
     atomic {
       load(OWNER(0)) == FREE ->
       generation = generation_of(memory[CONSUMED(0)]) + 1;
       memory[OWNER(0)] = owner_word(HOLDING, 1, generation);
       memory[CONSUMED(0)] = consumed_word(0, generation)
     };
     atomic {
       assert(load(OWNER(0)) == owner_word(HOLDING, 1, generation) && load(CONSUMED(0)) == consumed_word(0, generation));
       memory[OWNER(0)] = FREE;
       changed[WRITER] = 1
     }
#endif
  :: true
  fi
}

init {
  atomic {
    memory[WAKE_AT] = NOBODY_SLEEPS;
    if
    :: REQUIRED -> memory[OWNER(RESERVATION)] = owner_word(RESERVED, WRITER, 1); memory[CONSUMED(RESERVATION)] = consumed_word(0, 1); entries_used = ENTRIES
    :: else
    fi;
    run drain(0);
    run drain(WRITER);
    run writer();
    run reader(0, MODE0 == 0);
    if
    :: MODE1 != 2 -> run drain(1); run reader(1, MODE1 == 0)
    :: else
    fi;
    if
    :: MORTAL || WRITER_MORTAL || RELEASE -> run fate()
    :: else
    fi
  }
}
