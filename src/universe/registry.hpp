// The register of series that the hub keeps: who writes which boxes, where, and who reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "layout/box.hpp"

namespace couplet::universe {

// One array of a step.
struct SeriesField {
  std::string name;  // may be empty where there is one
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  bool operator==(const SeriesField&) const = default;
};

// One writer rank's part.
struct SeriesPart {
  channel::PeerId writer = 0;
  std::uint16_t node = 0;
  std::vector<std::vector<layout::Box>> boxes;  // of each field
  std::string file;                             // name in the node directory of `node`
};

struct SeriesRecord {
  std::string name;
  std::string program;  // of the writer
  std::vector<SeriesField> fields;
  std::uint64_t slots = 0;
  std::uint64_t incarnation = 0;  // 0, then +1 for each time the series was created again
  std::vector<std::string> required_readers;
  double linger_s = 0;
  bool closed = false;            // no writer writes any more
  std::vector<SeriesPart> parts;  // in order of the writers' ranks in their group
};

// All calls block until the hub has answered, at most until the deadline.
class SeriesRegistry {
 public:
  virtual ~SeriesRegistry() = default;
  // Reserves a name for `record` (parts already complete; called by the first writer rank only, after the writers have
  // agreed and made their files). Fills incarnation. exists: a live program writes it.
  virtual Result<SeriesRecord> announce(const SeriesRecord& record, std::uint64_t deadline_ns) = 0;
  // not_yet until the deadline if the series does not exist then. newer_than: wait for an incarnation above it (-1:
  // any). interrupted.
  virtual Result<SeriesRecord> find(const std::string& name, std::int64_t newer_than, std::uint64_t deadline_ns) = 0;
  // This rank writes that incarnation from now on. Asks nobody: a hub that is started again is told.
  virtual void writing(const std::string& /*name*/, std::uint64_t /*incarnation*/) {}
  // A writer rank has closed (or a reader rank has opened or closed): the hub needs it to know when the universe is
  // over.
  virtual Status writer_closed(const std::string& name, std::uint64_t deadline_ns) = 0;
  // incarnation: of the series that was opened. openers: how many ranks of the program open the series for themselves,
  // of which this is one; 0: it is a member of a team that opens it together, and all members hold it by now. The hub
  // keeps the ranks of a required program as a set: a rank that opens twice counts once, and one that has ended is not
  // waited for.
  virtual Status reader_opened(const std::string& name, std::uint64_t incarnation, std::int32_t openers,
                               std::uint64_t deadline_ns) = 0;
  // A creation that failed after its announcement, by the rank that has announced it: the name is free again, and
  // nobody finds the series.
  virtual Status withdraw(const std::string& name, std::uint64_t incarnation, std::uint64_t deadline_ns) = 0;
  virtual Status reader_closed(const std::string& name, std::uint64_t deadline_ns) = 0;
  // What the hub has told since of a series that this process writes or has open: its newest incarnation (-1: nothing
  // was told), whether its writers have all ended, and which of its required programs have opened it. Asks nobody; a
  // look into memory.
  struct News {
    std::int64_t incarnation = -1;
    bool closed = false;
    std::vector<std::string> opened;
  };
  [[nodiscard]] virtual News news(const std::string& /*name*/) const { return {}; }
  // The relay that serves the series of `node` (waits for it; unsupported where none will come).
  virtual Result<channel::PeerId> relay_of(std::uint16_t node, std::uint64_t deadline_ns) = 0;
};

}  // namespace couplet::universe
