// The hub's register of series: who writes which, who reads, who must still come. Pure; a part of HubState. Invariants:
// a name has one record, its newest; writers and readers are peers that live, since peer_gone takes them out. After a
// restart of the hub a name may be known from members' claims before its description has come: find() does not see it
// then. Tests: tests/unit/universe/test_series_book.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
        peers;  // who is told: who has it open, or, if a required program has opened it, who writes it
  };

  // What is stored of a series; the parts of its record are only in the description.
  struct Stored {
    SeriesRecord record;
    std::shared_ptr<const std::string> description;  // series_record.hpp; shared by all who fetch it
  };

  // Names that are new after this get incarnations above those of names that were forgotten with an earlier hub.
  void begin_epoch(std::uint32_t epoch) noexcept { first_incarnation_ = std::uint64_t{epoch} << 32U; }
  // Takes the record in with its incarnation. exists: a live peer still writes this name; limit: too many series.
  Result<SeriesRecord> announce(const SeriesRecord& record, std::shared_ptr<const std::string> description);
  // nullptr where there is none with an incarnation above newer_than.
  [[nodiscard]] const Stored* find(const std::string& name, std::int64_t newer_than) const;

  // After a restart of the hub: what a member says that it does with a series. True: its description should be recalled
  // from this member. limit: too many series.
  Result<bool> claim(channel::PeerId peer, const std::string& program, const SeriesClaim& claim);
  // The description that was recalled; ignored if it is there already or is of another incarnation. may_write: whether
  // a writer that has claimed nothing may still come and claim.
  void describe(const SeriesRecord& record, std::shared_ptr<const std::string> description,
                const std::function<bool(channel::PeerId)>& may_write, std::uint64_t now_ns);
  // What `peer` has open is not known; it will claim it.
  void forget_reader(channel::PeerId peer);
  // `peer` has claimed everything that it writes: `written`, sorted. It writes nothing else.
  std::vector<Change> claimed_all(channel::PeerId peer, const std::set<std::string>& written, std::uint64_t now_ns);

  // not_found: no such series, or the peer does not write it. The answers name the series whose `closed` has changed.
  Result<std::vector<Change>> writer_closed(channel::PeerId peer, const std::string& name, std::uint64_t now_ns);
  // As SeriesRegistry::reader_opened.
  struct Opening {
    std::uint64_t incarnation = 0;
    std::int32_t openers = 0;
  };
  Status reader_opened(channel::PeerId peer, const std::string& program, const std::string& name,
                       const Opening& opening);
  // The announcement is taken back: the name is free, and nobody finds the series. not_found: as writer_closed.
  Status withdraw(channel::PeerId peer, const std::string& name, std::uint64_t incarnation);
  // How many ranks of a program are there or may still come.
  using Living = std::function<std::size_t(const std::string& program)>;
  // The series of which a required program has opened since the last call; their writers are to be told. name: only of
  // this series; empty: of all.
  std::vector<Change> newly_opened(const std::string& name, const Living& living);
  // Required programs that have opened it, as the writers were told.
  [[nodiscard]] std::vector<std::string> opened(const std::string& name) const;
  Status reader_closed(channel::PeerId peer, const std::string& name);
  // The peer has left or is lost: it writes and reads no more.
  std::vector<Change> peer_gone(channel::PeerId peer, std::uint64_t now_ns);
  // No rank of this program is there any more: as a required reader it has closed or died.
  void program_gone(const std::string& program);

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  // Every writer has ended, and every required reader has closed or died.
  [[nodiscard]] bool finished() const;
  // The last writer's end plus linger; 0 where nothing lingers.
  [[nodiscard]] std::uint64_t lingers_until_ns() const;
  [[nodiscard]] std::vector<channel::PeerId> readers_of(const std::string& name) const;
  [[nodiscard]] bool reads(channel::PeerId peer) const;
  // What it has open or writes.
  [[nodiscard]] std::vector<const SeriesRecord*> used_by(channel::PeerId peer) const;
  // "program 'follower' (series 'eta')": required readers that have not come.
  [[nodiscard]] std::vector<std::string> awaited() const;

 private:
  struct Reader {
    channel::PeerId peer;
    std::string program;
    int opened = 0;
    std::int32_t openers = not_opened;
  };
  struct Required {
    bool has_come = false;  // or never will
    bool told = false;      // the writers know that it has opened
    Openers openers;
  };
  struct Entry : Stored {
    bool described = true;
    std::set<channel::PeerId> writers;  // still writing
    std::map<channel::PeerId, Reader> readers;
    std::map<std::string, Required> required;  // by program
    std::uint64_t ended_ns = 0;
  };
  static void end(Entry& entry, std::uint64_t now_ns);
  static std::vector<channel::PeerId> readers_of(const Entry& entry);
  static void require(Entry& entry);
  static void forget_openings(Entry& entry);
  static void note_opened(Entry& entry, const Reader& reader);

  std::map<std::string, Entry> entries_;
  std::uint64_t first_incarnation_ = 0;
};

}  // namespace couplet::universe
