/* The rounds of three ranks that put messages into each other's memory, as in src/exchange/mpi/flagged.cpp: message n of an
 * edge goes into half n mod 2 of the receiver; when it is there, the flag of that half becomes n + 1. An edge that has a
 * counterpart in every round needs nothing else. On all others the receiver puts its credit, the number of messages that
 * it has consumed, into the sender's memory, and message n waits for credit n - 1.
 *
 * The substrate is weak: a put is in flight until carry() delivers it, at any later moment and in any order. Only a flush
 * waits for what was put. A message is one word: the words of a longer one are delivered each for itself, so that what is
 * true of one is true of all. What a rank does between two moments at which it may have to wait is one step, since nothing
 * is seen of it before it is delivered. A message is looked at when it is given back: what is wrong once stays wrong.
 *
 * Checked: a message that is given back is the right one, and was so since its flag was seen; no put is begun into a half
 * or a flag into which an earlier one is still in flight; every rank comes to the end of its rounds.
 *
 * Chosen with -D: GRAPH (1: all three with each other; 2: 0 - 1 - 2 in both directions; 3: 0 -> 1 -> 2; 4: 0 -> 1 -> 2 -> 0;
 * 5: 0 and 1 in both directions, 1 -> 2 one way, 2 -> 0 in every second round; 6: 0 and 1 in both directions, but back
 * only in every second round), ROUNDS, OVERTAKING (1: a put may overtake an earlier one into the same place, which is then
 * lost; for mutants that would otherwise be found by that alone). The mutants, each to be found wrong by check_model.py, are the names after #ifdef
 * and #ifndef. */
#ifndef GRAPH
#define GRAPH 1
#endif
#ifndef ROUNDS
#define ROUNDS 4
#endif

#ifndef OVERTAKING
#define OVERTAKING 0
#endif

#ifdef ONE_HALF
#define HALVES 1
#else
#define HALVES 2
#endif

#if GRAPH == 1
#define EDGES 6
#elif GRAPH == 2 || GRAPH == 5
#define EDGES 4
#elif GRAPH == 4
#define EDGES 3
#else
#define EDGES 2
#endif

byte from[EDGES], to[EDGES];
byte every[EDGES] = 1;
bit paired[EDGES];

/* ---- memory, and what is in flight to it: 0 is nothing ---- */

#define half_of(n_) ((n_) % HALVES)
#define HALF(e_, h_) ((e_) * 2 + (h_))

byte words[2 * EDGES], words_in_flight[2 * EDGES];
byte flags[2 * EDGES], flags_in_flight[2 * EDGES];
byte credit[EDGES], credit_in_flight[EDGES];
byte sent[EDGES], consumed[EDGES];  /* messages, as the sender and the receiver of the edge count them */

#define takes_part(e_) (round % every[e_] == 0)
#define sends(e_) (from[e_] == self && takes_part(e_))
#define receives(e_) (to[e_] == self && takes_part(e_))

#define deliver(memory_, flight_, place_) \
  atomic { flight_[place_] != 0 -> memory_[place_] = flight_[place_]; flight_[place_] = 0 }
proctype carry(byte e) {
end:
  do
  :: deliver(words, words_in_flight, HALF(e, 0))
  :: deliver(words, words_in_flight, HALF(e, 1))
  :: deliver(flags, flags_in_flight, HALF(e, 0))
  :: deliver(flags, flags_in_flight, HALF(e, 1))
  :: deliver(credit, credit_in_flight, e)
  od
}

/* ---- a rank ---- */

/* Flagged::outgoing, send */
inline put_message() {
#ifndef NO_CREDIT
  (paired[e] || sent[e] < credit[e] + HALVES);
#endif
  assert(OVERTAKING || words_in_flight[HALF(e, half_of(sent[e]))] == 0);
  words_in_flight[HALF(e, half_of(sent[e]))] = sent[e] + 1;
  sent[e]++
}

/* Flagged::deliver: the flush, then the flag */
#define last_half half_of(sent[e] - 1)
inline put_flag() {
#ifndef FLAG_BEFORE_DATA
  (words_in_flight[HALF(e, last_half)] == 0);
#endif
#ifdef BOOLEAN_FLAG
  flags_in_flight[HALF(e, 0)] = 1 /* one for both halves; the receiver takes it down */
#else
  assert(OVERTAKING || flags_in_flight[HALF(e, last_half)] == 0);
  flags_in_flight[HALF(e, last_half)] = sent[e]
#endif
}

/* Flagged::look_at */
inline await_message() {
#ifdef BOOLEAN_FLAG
  (flags[HALF(e, 0)] == 1);
  flags[HALF(e, 0)] = 0
#elif defined(BOOLEAN_FLAG_LEFT_UP)
  (flags[HALF(e, half_of(consumed[e]))] != 0)
#else
  (flags[HALF(e, half_of(consumed[e]))] >= consumed[e] + 1);
  assert(flags[HALF(e, half_of(consumed[e]))] == consumed[e] + 1)
#endif
}

/* What the caller has read. */
inline look_at_message() {
  assert(words[HALF(e, half_of(consumed[e]))] == consumed[e] + 1)
}

/* Flagged::end */
inline give_credit() {
  if
  :: !paired[e] -> credit_in_flight[e] = consumed[e] + 1
  :: else
  fi
}
inline give_back() {
  look_at_message();
#ifndef CREDIT_BEFORE_CONSUMED
  give_credit();
#endif
  consumed[e]++
}

#define for_each(condition_, action_) \
  atomic { \
    e = 0; \
    do \
    :: e < EDGES && condition_ -> action_; e++ \
    :: e < EDGES && !(condition_) -> e++ \
    :: e == EDGES -> break \
    od; \
    e = 0 \
  }

inline receive() {
  for_each(receives(e), await_message());
#ifdef CREDIT_BEFORE_CONSUMED
  for_each(receives(e), give_credit());
#endif
  for_each(receives(e), give_back())
}

proctype rank(byte self) {
  byte round = 0, e = 0;
  do
  :: round < ROUNDS ->
     for_each(sends(e), put_message());
#ifdef VIEW_KEPT
     if
     :: round > 0 -> for_each(receives(e), consumed[e]--; look_at_message(); consumed[e]++)
     :: else
     fi;
#endif
     for_each(sends(e), put_flag());
#ifdef START_BEFORE_WAIT
     if
     :: round > 0 -> receive() /* the messages of the round before: all rounds of the graph are alike */
     :: else
     fi;
#else
     receive();
#endif
     round++
  :: round == ROUNDS -> break
  od;
#ifdef START_BEFORE_WAIT
  receive()
#endif
}

#define edge(e_, from_, to_) from[e_] = from_; to[e_] = to_

init {
  byte e = 0;
  atomic {
#if GRAPH == 1
    edge(0, 0, 1); edge(1, 1, 0); edge(2, 1, 2); edge(3, 2, 1); edge(4, 0, 2); edge(5, 2, 0);
    for (e : 0 .. 5) { paired[e] = 1 }
#elif GRAPH == 2
    edge(0, 0, 1); edge(1, 1, 0); edge(2, 1, 2); edge(3, 2, 1);
    for (e : 0 .. 3) { paired[e] = 1 }
#elif GRAPH == 3
    edge(0, 0, 1); edge(1, 1, 2);
#elif GRAPH == 4
    edge(0, 0, 1); edge(1, 1, 2); edge(2, 2, 0);
#elif GRAPH == 5
    edge(0, 0, 1); edge(1, 1, 0); edge(2, 1, 2); edge(3, 2, 0);
    paired[0] = 1; paired[1] = 1; every[3] = 2;
#else
    edge(0, 0, 1); edge(1, 1, 0); every[1] = 2;
#endif
#ifdef EVERY_EDGE_TAKEN_FOR_PAIRED
    for (e : 0 .. (EDGES - 1)) { paired[e] = 1 }
#endif
    for (e : 0 .. (EDGES - 1)) { run carry(e) }
    run rank(0);
    run rank(1);
    run rank(2)
  }
}
