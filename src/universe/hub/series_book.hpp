// The hub's register of series: which peers write and read each of them, and which required readers have not come yet.
// Pure; a part of HubState. A series is known by the number of its creation; its incarnation is the order of those of
// one name. Invariants: there is one record for each name, that of its newest incarnation; what writes and reads is
// alive, as far as the hub knows: peer_gone() and rejoined() see to it. After a restart of the hub a name may be known
// from the roster, or from members' claims, before its description has arrived: until then find() does not return it.
// Tests: tests/unit/universe/series_book_test.cpp, tests/unit/universe/failed_creations_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "universe/control.hpp"
#include "universe/hub/earlier_members.hpp"
#include "universe/hub/hub_event.hpp"
#include "universe/hub/openers.hpp"
#include "universe/hub/said_of_creations.hpp"
#include "universe/registry.hpp"

namespace couplet::universe {

inline constexpr std::size_t most_series = 4096;

class SeriesBook {
 public:
  struct Change {
    std::string name;
    // The peers to tell: those that have the series open or, if a required program has opened it, its writers.
    std::vector<channel::PeerId> peers;
  };

  // What is stored of a series. The parts of its record are only in the description.
  struct Stored {
    SeriesRecord record;
    std::shared_ptr<const std::string> description;  // see series_record.hpp; shared by all that fetch it
  };

  // From now on, new names get incarnations above those of names that were forgotten with an earlier hub.
  void begin_epoch(std::uint32_t epoch) noexcept { first_incarnation_ = std::uint64_t{epoch} << 32U; }
  // Takes what an earlier hub has written down of a series. Its writers are those that this hub awaits.
  void remember(const std::string& name, const std::string& program, const EarlierSeries& earlier);
  // Returns what the next hub has to know, in order: events `register` and `writer`.
  [[nodiscard]] std::vector<HubEvent> take_notes() { return std::exchange(notes_, {}); }
  // Stores the record with its incarnation. Returns limit if there are too many series, and exists if a peer writes
  // this name that has no part of the new creation, or has withdrawn from it: one that takes part does not write a
  // series of that name any longer, whatever the hub has heard. A creation that is announced again, since its announcer
  // has not had the answer, keeps its incarnation.
  // lives: whether the process that has made this part is alive, or may be.
  Result<SeriesRecord> announce(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                                const std::function<bool(const SeriesPart&)>& lives);
  // Returns nullptr if there is no incarnation above newer_than.
  [[nodiscard]] const Stored* find(const std::string& name, std::int64_t newer_than) const;

  // Is the series known to be there, although its description has not arrived?
  [[nodiscard]] bool is_awaited(const std::string& name) const;

  // A member has come back: takes what it does with a series. Returns true if the description is to be recalled from
  // this member, and limit if there are too many series.
  Result<bool> claim(channel::PeerId peer, const std::string& program, const SeriesClaim& claim);
  // Called after claim() of all claims of a peer that has come back: removes it from the writers of every series that
  // it neither writes nor creates.
  std::vector<Change> rejoined(channel::PeerId peer, const std::string& program, const RejoinMessage& message,
                               std::uint64_t now_ns);
  // Stores a description that was recalled. Ignores it if there is one already, or if it is of another creation.
  // may_come: whether the process that has made this part has claimed nothing, but may still come and claim the series.
  void describe(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                const std::function<bool(const SeriesPart&)>& may_come, std::uint64_t now_ns);
  // Forgets which series `peer` reads. The peer will claim them again.
  void forget_reader(channel::PeerId peer);

  // The peer, which is coming back, takes part in that creation. Returns limit if it takes part in too many.
  Status creating(channel::PeerId peer, const std::string& program, const std::string& name, std::uint64_t creation);
  // A writer has closed the series of that creation. Returns the series whose `closed` has changed.
  std::vector<Change> writer_closed(channel::PeerId peer, const std::string& name, std::uint64_t creation,
                                    std::uint64_t now_ns);
  // The peer does not write what that creation announces, or has announced. If no peer writes the series any longer,
  // the name is free, and readers find it only if a writer has closed it. Returns the series whose `closed` has
  // changed.
  std::vector<Change> withdraw(channel::PeerId peer, const std::string& name, std::uint64_t creation,
                               std::uint64_t now_ns);
  struct Opening {
    std::uint64_t creation = 0;
    OpenerRanks openers;
  };
  Status reader_opened(channel::PeerId peer, const std::string& program, const std::string& name,
                       const Opening& opening);
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
  enum class Use : std::uint8_t { reads, writes };
  [[nodiscard]] std::vector<channel::PeerId> peers_of(const std::string& name, Use use) const;
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
  struct Entry : Stored {
    bool described = false;
    bool recalled = false;              // a member was asked for the description
    bool remembered = false;            // an earlier hub knew all writers, so `writers` has them
    std::set<channel::PeerId> writers;  // those that write, and those of which this hub does not know whether they do
    bool failed = false;                // a rank has withdrawn, or had died before the announcement
    bool closed_by_one = false;         // a rank has closed it in good order
    std::map<channel::PeerId, Reader> readers;
    // Those that have told this hub, which was started again, that they have opened the series, and have closed it
    // before this hub had its description.
    std::map<channel::PeerId, Reader> former_readers;
    std::map<std::string, Required> required;  // by program
    std::uint64_t ended_ns = 0;

    // Begins an incarnation, of which nothing is known. Those that have the series open keep it open.
    void renew();
    // Stores what is described, but not which ranks write it.
    void describe(const SeriesRecord& description_of, std::shared_ptr<const std::string> text);
    void add_writer(channel::PeerId peer);
    void withdraw(channel::PeerId peer);
    // Has the creation failed? There is nothing to read then, and will never be. The entry is kept for its incarnation:
    // the next one will be above it.
    [[nodiscard]] bool is_void() const noexcept { return writers.empty() && failed && !closed_by_one; }
    // Ends if no peer writes it any longer. Returns true if its `closed` has changed.
    bool end_if_unwritten(std::uint64_t now_ns);
    // Appends it to the changes if it ends now.
    void end_if_unwritten(std::uint64_t now_ns, std::vector<Change>& changes);
    void note_opened(const Reader& reader);
    // Returns what the next hub has to know: all of it, or only whether the peer is among the writers.
    [[nodiscard]] HubEvent note() const;
    [[nodiscard]] HubEvent note_of(channel::PeerId peer) const;
    [[nodiscard]] std::vector<channel::PeerId> reading() const;
  };
  // Returns the entry of that creation, or nullptr.
  [[nodiscard]] Entry* find_creation(const std::string& name, std::uint64_t creation);

  std::map<std::string, Entry> entries_;
  std::vector<HubEvent> notes_;
  SaidOfCreations creations_;
  std::uint64_t first_incarnation_ = 0;
};

}  // namespace couplet::universe
