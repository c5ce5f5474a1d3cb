// An actor of a chaos run: carries out the lines of its script over the public C interface, one after the other, and
// writes its history. It decides nothing about right and wrong: tools/chaos does, from all histories.
#pragma once

#include <couplet/couplet.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "contents.hpp"
#include "groups.hpp"
#include "history.hpp"
#include "script.hpp"
#include "self.hpp"

namespace chaos {

struct Written {
  couplet_series* series = nullptr;
  SeriesContents contents;
  std::int64_t first = 0, stop = 0;  // the elements of this rank
  std::int64_t grain = 1;            // only every grain-th element says what it is of
  std::int64_t next_step = 0;
  std::vector<std::uint64_t> data;
};

struct Opened {
  couplet_series* series = nullptr;
  SeriesContents contents;
  std::string name;
  std::int64_t first = 0, stop = 0;
  std::int64_t grain = 1;
};

// The messages in one direction between this process and another one, with one tag. A request that was given up for the
// moment is waited for again by the next call.
struct Flow {
  std::uint64_t sequence = 0;
  couplet_request* request = nullptr;
  std::vector<std::uint64_t> buffer;
};

struct Tasks {
  couplet_tasks* handle = nullptr;
  Action opened;  // the line that has opened them
};

class Actor {
 public:
  Actor(Self self, History& history) : self_(std::move(self)), history_(history) {}
  void carry_out(const Action& action);

 private:
  void join(const Action& action);
  void leave(const Action& action);
  void idle(const Action& action);

  void create(const Action& action);
  void put(const Action& action);
  bool put_one(Written& written, const Action& action);
  void fill(const Written& written, std::int64_t step, std::uint64_t* data) const;
  void open(const Action& action);
  void read(const Action& action);
  std::string describe_batch(const Opened& opened, const couplet_series_batch& batch) const;
  std::string check_step(const Opened& opened, const std::uint64_t* data, std::int64_t step) const;
  void count(const std::string& handle, couplet_series* series);
  void close(const Action& action);
  void close_one(const std::string& handle, couplet_series* series);

  bool find_peer(const Action& action, std::int32_t& peer);
  void send(const Action& action);
  void receive(const Action& action);
  bool wait_for(Flow& flow, const Action& action, const char* call, couplet_message* message, const char* key);
  std::string check_message(const Flow& flow, const couplet_message& message, bool& last) const;

  void create_area(const Action& action);
  void open_area(const Action& action);
  void use_area(const Action& action, bool write);

  void open_tasks(const Action& action);
  void submit(const Action& action);
  void work(const Action& action);
  void close_tasks(const Action& action);

  Self self_;
  History& history_;
  couplet_universe* universe_ = nullptr;
  couplet_group* everybody_ = nullptr;
  std::map<std::string, Written> written_;
  std::map<std::string, Opened> opened_;
  std::map<std::string, Flow> flows_;
  std::map<std::string, couplet_area*> areas_;
  std::map<std::string, Tasks> tasks_;
  Groups groups_{self_, history_};
  std::uint64_t submitted_ = 0;  // by this life, so that each of its tasks has a number
};

}  // namespace chaos
