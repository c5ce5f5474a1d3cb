// ReaderReadiness: says whether a read would give something now, without reading. Neighbours: reader (whose state it
// uses), publication_watch (which is told what to wait for). What it says is local: it agrees with no other rank. It
// consumes no step; like a read that answers not_yet, it accounts for steps that this rank has lost or does not want.
// Tests: tests/unit/series/reader_readiness_test.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "series/reader.hpp"
#include "series/series_file.hpp"

namespace couplet::series {

class ReaderReadiness {
 public:
  // Returns true if a read of this rank alone, with at_least and a timeout of 0, would answer anything but not_yet. It
  // reads memory only. With `losses` it also checks whether a writer has died, with a system call for each writer, and
  // whether a rank of the reader has: the next read says so.
  [[nodiscard]] static bool look(Reader& reader, std::uint64_t at_least, bool losses);
  // Moves the data that has arrived from other nodes or can be fetched from a window. Never blocks. The next look() and
  // the next read report what goes wrong.
  static void move(Reader& reader);
  // What has to happen before look() returns true: the file must have `target` published steps. The file is nullptr if
  // steps come by frames, or if nothing wakes this process.
  struct Awaited {
    std::shared_ptr<SeriesFile> file;
    std::uint64_t target = 0;
  };
  [[nodiscard]] static Awaited awaited(Reader& reader, std::uint64_t at_least);
  // Returns true if nothing announces the steps of some part, so that it must be checked again and again.
  [[nodiscard]] static bool unannounced(const Reader& reader);
};

}  // namespace couplet::series
