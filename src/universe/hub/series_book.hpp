// The hub's register of series: which peers write and read each of them, and which required readers have not come yet.
// Pure; a part of HubState. Invariants: there is one record for each name, that of its newest incarnation; what writes
// and reads is alive, as far as the hub knows: peer_gone() and claimed_all() see to it. After a restart of the hub a
// name may be known from members' claims before its description has arrived: until then find() does not return it.
// Tests: tests/unit/universe/series_book_test.cpp, tests/unit/universe/failed_creations_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "universe/control.hpp"
#include "universe/hub/openers.hpp"
#include "universe/registry.hpp"

namespace couplet::universe {

inline constexpr std::size_t most_series = 4096;

class SeriesBook {
 public:
  struct Change {
    std::string name;
    std::vector<channel::PeerId>
        // The peers to tell: those that have the series open or, if a required program has opened it, its writers.
        peers;
  };

  // What is stored of a series. The parts of its record are only in the description.
  struct Stored {
    SeriesRecord record;
    std::shared_ptr<const std::string> description;  // see series_record.hpp; shared by all that fetch it
  };

  // From now on, new names get incarnations above those of names that were forgotten with an earlier hub.
  void begin_epoch(std::uint32_t epoch) noexcept { first_incarnation_ = std::uint64_t{epoch} << 32U; }
  // Stores the record with its incarnation. Returns exists if a live peer still writes this name, and limit if there
  // are too many series. A creation that is announced again, since its announcer has not had the answer, keeps its
  // incarnation. If the announcer is gone, or a rank has withdrawn, a rank with a part of the new creation does not
  // count as a writer of the old one.
  // lives: whether the process that has made this part is alive, or may be.
  Result<SeriesRecord> announce(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                                channel::PeerId announcer, const std::function<bool(const SeriesPart&)>& lives);
  // Returns nullptr if there is no incarnation above newer_than.
  [[nodiscard]] const Stored* find(const std::string& name, std::int64_t newer_than) const;

  // After a restart of the hub: takes what a member does with a series. Returns true if the description is to be
  // recalled from this member, and limit if there are too many series.
  Result<bool> claim(channel::PeerId peer, const std::string& program, const SeriesClaim& claim);
  // Stores a description that was recalled. Ignores it if there is one already, or if it is of another incarnation.
  // may_come: whether the process that has made this part has claimed nothing, but may still come and claim the series.
  void describe(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                const std::function<bool(const SeriesPart&)>& may_come, std::uint64_t now_ns);
  // Forgets which series `peer` reads. The peer will claim them again.
  void forget_reader(channel::PeerId peer);
  // `peer`, in this incarnation, has claimed everything that it writes: `written`, sorted. It writes nothing else but
  // what was announced to this hub for the same incarnation: it may not have heard yet that the first rank of its
  // program has done that.
  std::vector<Change> claimed_all(channel::PeerId peer, std::uint16_t incarnation, const std::set<std::string>& written,
                                  std::uint64_t now_ns);

  // A writer has closed the series of that creation. Returns the series whose `closed` has changed, or not_found if
  // there is no such series or the peer does not write it.
  Result<std::vector<Change>> writer_closed(channel::PeerId peer, const std::string& name, std::uint64_t creation,
                                            std::uint64_t now_ns);
  // The arguments of SeriesRegistry::reader_opened.
  struct Opening {
    std::uint64_t incarnation = 0;
    OpenerRanks openers;
  };
  Status reader_opened(channel::PeerId peer, const std::string& program, const std::string& name,
                       const Opening& opening);
  // The peer does not write what that creation announces, or has announced. If no peer writes the series any longer,
  // the name is free, and readers find it only if a writer has closed it. Returns the series whose `closed` has
  // changed, or not_found if the creation has not been announced.
  Result<std::vector<Change>> withdraw(channel::PeerId peer, const std::string& name, std::uint64_t creation,
                                       std::uint64_t now_ns);
  struct Living {
    // Returns how many ranks of a program are there or may still come, and whether this rank is one of them.
    std::function<std::size_t(const std::string& program)> count;
    std::function<bool(channel::PeerId rank)> may_open;
  };
  // Returns the series that a required program has opened since the last call; their writers are to be told. name:
  // checks only this series; empty: checks all.
  std::vector<Change> newly_opened(const std::string& name, const Living& living);
  // Returns the required programs that have opened the series, as the writers were told.
  [[nodiscard]] std::vector<std::string> opened(const std::string& name) const;
  Status reader_closed(channel::PeerId peer, const std::string& name);
  // The peer has left or is lost, so it no longer writes or reads.
  std::vector<Change> peer_gone(channel::PeerId peer, std::uint64_t now_ns);
  // The program has no rank left. As a required reader it has closed or died.
  void program_gone(const std::string& program);

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  // Have all writers ended, and have all required readers closed or died?
  [[nodiscard]] bool finished() const;
  // Returns when the last series stops lingering: the end of its last writer plus linger_s. 0: no series lingers.
  [[nodiscard]] std::uint64_t lingers_until_ns() const;
  [[nodiscard]] std::vector<channel::PeerId> readers_of(const std::string& name) const;
  [[nodiscard]] bool reads(channel::PeerId peer) const;
  // Returns the series that the peer has open or writes.
  [[nodiscard]] std::vector<const SeriesRecord*> used_by(channel::PeerId peer) const;
  // Returns the required readers that have not come, for example "program 'follower' (series 'eta')".
  [[nodiscard]] std::vector<std::string> awaited() const;

 private:
  struct Reader {
    channel::PeerId peer;
    std::string program;
    int opened = 0;
    OpenerRanks openers = not_opened;
  };
  struct Required {
    bool has_come = false;  // or will never come
    bool told = false;      // the writers were told that it has opened
    Openers openers;
  };
  // What the hub knows of a rank that has a part of the series.
  enum class WriterState : std::uint8_t {
    writes,
    closed,     // it has ended the series in good order
    withdrawn,  // its creation has failed, or it died before the last announcement
    gone,       // it has left or died, or has not told a hub that was started again that it writes
  };
  struct Writer {
    WriterState state = WriterState::gone;
    std::uint16_t incarnation = 0;  // that of the process; known from the description
  };
  // The ranks of a series. When none writes any longer, they are forgotten, but for how they have ended.
  class Writers {
   public:
    void set(channel::PeerId peer, WriterState state);
    void set_incarnation(channel::PeerId peer, std::uint16_t incarnation) { ranks_[peer].incarnation = incarnation; }
    // Changes the state of a rank that writes. Returns false if it does not.
    bool end(channel::PeerId peer, WriterState state);
    void forget_ranks() noexcept { ranks_.clear(); }
    // Returns nullptr if it has no part, as far as is known.
    [[nodiscard]] const Writer* find(channel::PeerId peer) const;
    [[nodiscard]] bool writes(channel::PeerId peer) const;
    // Is there, or was there, a rank in this state?
    [[nodiscard]] bool any(WriterState state) const noexcept { return counts_[static_cast<std::size_t>(state)] > 0; }
    [[nodiscard]] std::vector<channel::PeerId> writing() const;

   private:
    std::map<channel::PeerId, Writer> ranks_;
    std::array<std::size_t, 4> counts_{};  // by state
  };
  struct Entry : Stored {
    bool described = false;
    std::optional<channel::PeerId> announcer;  // to this hub, which then knows its writers
    Writers writers;
    std::map<channel::PeerId, Reader> readers;
    // Those that have told this hub, which was started again, that they have opened the series, and have closed it
    // before this hub had its description.
    std::map<channel::PeerId, Reader> former_readers;
    std::map<std::string, Required> required;  // by program
    std::uint64_t ended_ns = 0;

    // May ranks that count as writers have given up, and their messages be on their way?
    [[nodiscard]] bool may_have_failed() const;
  };
  // Begins an incarnation, of which nothing is known. Those that have the series open keep it open.
  static void renew(Entry& entry);
  // Stores what is described, but not which ranks write it.
  static void describe(Entry& entry, const SeriesRecord& record, std::shared_ptr<const std::string> description);
  [[nodiscard]] bool has_withdrawn(channel::PeerId peer, std::uint64_t creation) const;
  // Ends the entry if no peer writes it any longer. Returns true if its `closed` has changed.
  static bool end_if_unwritten(Entry& entry, std::uint64_t now_ns);
  static std::vector<channel::PeerId> readers_of(const Entry& entry);
  static void note_opened(Entry& entry, const Reader& reader);

  std::map<std::string, Entry> entries_;
  // The last creations from which each peer has withdrawn. The announcement, or the description, of one may come after
  // that, also when the peer has gone.
  std::map<channel::PeerId, std::deque<std::uint64_t>> withdrawals_;
  std::uint64_t first_incarnation_ = 0;
};

}  // namespace couplet::universe
