#include "universe/hub/hub_home.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "os/directory.hpp"
#include "os/host.hpp"
#include "universe/hub/roster.hpp"

namespace couplet::universe {
namespace {

// Members take back only a hub with the programs that they know.
Status check_programs_of_before(std::uint64_t run, const std::vector<ProgramInfo>& before,
                                const std::vector<ProgramSpec>& now) {
  const auto same = [](const ProgramInfo& theirs, const ProgramSpec& ours) {
    return theirs.name == ours.name && (ours.size == 0 || ours.size == theirs.size);
  };
  if (before.empty() || std::equal(before.begin(), before.end(), now.begin(), now.end(), same)) {
    return {};
  }
  return fail(Code::config, "the hub of run {:016x} had the programs {}, not {}: give the same --programs as before",
              run, programs_text(before), programs_text(now));
}

// Is there a directory of the run in which a hub can be started again? A mistyped number is found by this.
Status check_run_is_there(const HubHomeOptions& options, const std::vector<std::string>& directories) {
  const auto exists = [](const std::string& path) { return os::list_directory(path).ok(); };
  if (!options.key_file.empty() || std::any_of(directories.begin(), directories.end(), exists)) {
    return {};
  }
  std::string homes;
  const auto names = os::list_directory(options.run_directory);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (is_home_of_hub(options.run_directory + "/" + name)) {
      homes += (homes.empty() ? "" : ", ") + name;
    }
  }
  return fail(Code::config,
              "there is no run {:016x} in {} (COUPLET_RUN_DIR), where {}; if it was on another host, name the file "
              "with its key (--key-file)",
              options.resumed_run, options.run_directory,
              homes.empty() ? "no hub can be started again" : "there are the hubs of " + homes);
}

}  // namespace

Result<std::unique_ptr<HubHome>> HubHome::prepare(const HubHomeOptions& options) {
  if (options.resumed_run == 0) {
    return std::unique_ptr<HubHome>(new HubHome(options, channel::HubKey(channel::random_secret())));
  }
  const auto directories = NodeDirectory::paths(options.run_directory, options.resumed_run, options.node_name);
  COUPLET_TRY(check_run_is_there(options, directories));
  auto path = options.key_file.empty() ? hub_key_path(directories.front()) : options.key_file;
  for (const auto& directory : directories) {
    path = options.key_file.empty() && is_home_of_hub(directory) ? hub_key_path(directory) : path;
  }
  COUPLET_TRY_VALUE(auto file, channel::HubKeyFile::take_over(path, options.resumed_run));
  for (const auto& directory : directories) {
    COUPLET_TRY(check_programs_of_before(options.resumed_run, Roster::read(directory).programs, options.programs));
  }
  auto home = std::unique_ptr<HubHome>(new HubHome(options, file->key()));
  home->key_file_ = std::move(file);
  return home;
}

Status HubHome::enter(const LockWait& wait) {
  COUPLET_TRY_VALUE(directory_, NodeDirectory::enter(options_.run_directory, key_.run_id(), options_.node_name, wait));
  if (key_file_ != nullptr) {
    directory_->leave_as_it_is(true);
    return {};
  }
  const auto path = options_.key_file.empty() ? hub_key_path(directory_->path()) : options_.key_file;
  COUPLET_TRY_VALUE(key_file_, channel::HubKeyFile::make(path, key_));
  return {};
}

void HubHome::serve(const os::Endpoint& listens_at) {
  if (state_ != State::prepared) {
    return;
  }
  state_ = State::serving;
  directory_->leave_as_it_is(false);
  key_file_->name_holder(fmt::format("process {} on host {}, which listens at {}", os::process_id(), os::host_name(),
                                     os::endpoint_text(listens_at)));
}

HubHome::~HubHome() {
  const bool never_served = state_ == State::prepared && options_.resumed_run == 0;
  if (never_served || state_ == State::ended) {
    if (key_file_ != nullptr) {
      key_file_->remove();
    }
    if (directory_ != nullptr) {
      directory_->forget_hub();
      if (state_ == State::ended) {
        directory_->await_the_dying();
      }
    }
  }
}

}  // namespace couplet::universe
