// The register of series that the hub keeps: which processes write which boxes, where they are, and which processes
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "layout/box.hpp"

namespace couplet::universe {

// One of the arrays that belong to a step.
struct SeriesField {
  std::string name;  // may be empty if the series has only one field
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  bool operator==(const SeriesField&) const = default;
};

// The part of a series that one writer rank has.
struct SeriesPart {
  channel::PeerId writer = 0;
  std::uint16_t writer_incarnation = 0;  // that of its process
  std::uint16_t node = 0;
  std::vector<std::vector<layout::Box>> boxes;  // the list of boxes of each field
  std::string file;                             // name in the node directory of `node`
};

struct SeriesRecord {
  std::string name;
  std::string program;  // the program that writes the series
  std::vector<SeriesField> fields;
  std::uint64_t slots = 0;
  std::uint64_t incarnation = 0;  // greater each time the series was created again
  std::uint64_t creation = 0;     // a random number, which all ranks of the creation know before it is announced
  std::vector<std::string> required_readers;
  double linger_s = 0;
  bool closed = false;            // all writers have ended
  std::vector<SeriesPart> parts;  // in order of the writers' ranks in their group
};

// `count` ranks of the universe, from `first` on.
struct RankRun {
  channel::PeerId first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const RankRun&, const RankRun&) = default;
};
// The ranks of a program that each open a series for themselves.
struct OpenerRanks {
  static constexpr std::size_t max_runs = 16384;
  OpenerRanks() = default;
  OpenerRanks(std::int32_t number) : count(number) {}  // NOLINT(google-explicit-constructor): any ranks, so many
  std::int32_t count = 0;                              // 0: a team opens the series together
  std::vector<RankRun> runs;                           // which they are; empty: any ranks of the program
};
// A deadline for SeriesRegistry::reader_opened and reader_closed: the hub is told, and its answer is not awaited. A hub
// that is away hears of it when it is back.
inline constexpr std::uint64_t unanswered = 0;

// All functions without a remark block until the hub has answered, at most until the deadline.
class SeriesRegistry {
 public:
  virtual ~SeriesRegistry() = default;
  // Returns ok while the hub answers, or is away for so short a time that calls wait for it (setting
  // hub.return_patience_s); else hub_lost with the reason, which begins with `what`. Does not block.
  [[nodiscard]] virtual Status may_ask(const std::string& /*what*/) const { return {}; }
  // Announces a series, whose record is complete except for its incarnation, and reserves its name. Called by the first
  // writer rank only, after the writers have agreed and made their files. Returns the record with its incarnation, or
  // exists if a live program writes this name.
  virtual Result<SeriesRecord> announce(const SeriesRecord& record, std::uint64_t deadline_ns) = 0;
  // Finds a series. Waits until there is an incarnation above newer_than (-1: any). Returns not_yet if there is none at
  // the deadline; timeout if the hub has not answered by then, so that it is not known whether there is one (only for
  // -1); or interrupted. If the search for a newer incarnation ends without an answer, the hub keeps the request
  // until the reader closes, and the next such search gets the answer. So a search may be shorter than a round trip to
  // the hub.
  virtual Result<SeriesRecord> find(const std::string& name, std::int64_t newer_than, std::uint64_t deadline_ns) = 0;
  // Notes a series that another rank has found and passed on to this one with its description. Does not ask the hub. A
  // hub that is started again is told of this series, too.
  virtual void learned(const SeriesRecord& /*record*/, const std::string& /*description*/) {}
  // Notes that this rank takes part in that creation, until created() or withdraw() ends it. Called before the first
  // rank may announce it. Does not wait for the hub. Returns exists if this process writes that name, or creates it
  // already, and limit if it takes part in too many creations.
  virtual Status creating(const std::string& /*name*/, std::uint64_t /*creation*/) { return {}; }
  // Notes that the creation has succeeded, and that this rank writes that incarnation from now on. Without an
  // incarnation: it has failed before anybody could announce it. Does not ask the hub.
  virtual void created(const std::string& /*name*/, std::uint64_t /*creation*/,
                       std::optional<std::uint64_t> /*incarnation*/) {}
  // Tells the hub that a writer rank has closed the series (or, below, that a reader rank has opened or closed it).
  // From this the hub knows when the universe has ended.
  virtual Status writer_closed(const std::string& name, std::uint64_t deadline_ns) = 0;
  // incarnation: of the series that was opened. openers: the ranks of the program that each open the series for
  // themselves, of which this is one; none means that this rank is a member of a team that opens the series together,
  // and that all members hold it by now. The hub keeps the ranks of a required program as a set: a rank that opens
  // twice counts once, and a rank that has ended is not waited for.
  virtual Status reader_opened(const std::string& name, std::uint64_t incarnation, const OpenerRanks& openers,
                               std::uint64_t deadline_ns) = 0;
  // Says that this rank does not write the series of that creation, which has failed here after its first rank may have
  // announced it. Whether it was announced, or will be, need not be known. If no rank writes the series any longer, its
  // name is free, and readers find it only if a rank has closed it. Waits until the hub has taken that, at most until
  // the deadline (unanswered: does not wait). A hub that is away is told when it is back, and one that is started again
  // as well.
  virtual void withdraw(const std::string& name, std::uint64_t creation, std::uint64_t deadline_ns) = 0;
  virtual Status reader_closed(const std::string& name, std::uint64_t deadline_ns) = 0;
  // What the hub has told since about a series that this process writes or has open: its newest incarnation (-1:
  // nothing was told), whether all its writers have ended, and which of its required programs have opened it. Reads
  // memory only, and does not ask the hub.
  struct News {
    std::int64_t incarnation = -1;
    bool closed = false;
    std::vector<std::string> opened;
  };
  [[nodiscard]] virtual News news(const std::string& /*name*/) const { return {}; }
  // Returns the relay that serves the series of `node`, and waits until there is one. Returns unsupported if there will
  // be none.
  virtual Result<channel::PeerId> relay_of(std::uint16_t node, std::uint64_t deadline_ns) = 0;
};

}  // namespace couplet::universe
