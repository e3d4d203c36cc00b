#include "plans/session/watch_loop.h"

#include <algorithm>

namespace podctl {
namespace {

using std::chrono::milliseconds;

// The first failure may have passed by the next round; what lasts is asked for less often, and not
// by everybody in step: up to 10 % more, by chance.
milliseconds PauseAfter(int failures, const WatchPace& pace, Random& random) {
  if (failures < 2) return pace.interval;
  const milliseconds longest = std::max(pace.interval, pace.longest);
  milliseconds pause = pace.interval;
  for (int i = 1; i < failures && pause < longest; ++i) pause *= 2;
  pause = std::min(pause, longest);
  return pause + milliseconds(static_cast<std::int64_t>(static_cast<double>(pause.count()) * 0.1 *
                                                        random.Uniform()));
}

}  // namespace

RoundEnd Watch(WatchRound& round, const WatchPace& pace, Clock& clock, Random& random,
               const std::stop_token& stop) {
  int failures = 0;
  while (true) {
    const RoundEnd end = round.Run();
    if (end == RoundEnd::kWrongUsage || end == RoundEnd::kInterrupted || pace.once) return end;
    failures = end == RoundEnd::kFailed ? failures + 1 : 0;
    const milliseconds pause = PauseAfter(failures, pace, random);
    round.OnPause(clock.Now() + pause);
    if (!clock.SleepFor(pause, stop)) return RoundEnd::kInterrupted;
  }
}

}  // namespace podctl
