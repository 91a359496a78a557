"""What is exported of runs, as messages."""

from __future__ import annotations

from treering.results.v1 import profile_data_service_pb2 as pb
from treering.results.v1 import result_pb2

from services.results.journal.wire import of_episode
from services.results.results.result import Result
from services.results.results.turns import RunTurn
from services.results.results.wire import of_result, of_turn
from services.results.runs.episode import Episode
from services.results.runs.run import Run
from services.results.runs.wire import of_run


def of_record(mark: str, found: Run | Result | RunTurn | Episode) -> pb.ExportProfileDataResponse:
    """One thing that is kept, and the mark to go on after it."""
    match found:
        case Run():
            return pb.ExportProfileDataResponse(next=mark, run=of_run(found))
        case Result():
            return pb.ExportProfileDataResponse(next=mark, result=of_result(found))
        case RunTurn():
            turn = result_pb2.RunTurn(run_id=str(found.run_id), turn=of_turn(found.turn))
            return pb.ExportProfileDataResponse(next=mark, turn=turn)
        case Episode():
            return pb.ExportProfileDataResponse(next=mark, episode=of_episode(found))
