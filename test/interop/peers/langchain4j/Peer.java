import com.fasterxml.jackson.databind.ObjectMapper;
import dev.langchain4j.agentic.AgenticServices;
import dev.langchain4j.agentic.UntypedAgent;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;

/** An agent of LangChain4j that is an agent of Lango. Answers JSON requests, one a line: {"op": "say", "url": URL, "text": TEXT}. */
public class Peer {
  public static void main(String[] args) throws Exception {
    ObjectMapper json = new ObjectMapper();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = lines.readLine()) != null; ) {
      Map<String, String> given = json.readValue(line, Map.class);
      Map<String, String> answer;
      try {
        UntypedAgent agent = AgenticServices.a2aBuilder(given.get("url"), UntypedAgent.class).inputKeys("request").outputKey("answer").build();
        answer = Map.of("answer", String.valueOf(agent.invoke(Map.of("request", given.get("text")))));
      } catch (Throwable error) {
        error.printStackTrace();
        answer = Map.of("error", String.valueOf(error));
      }
      System.out.println("\n" + json.writeValueAsString(answer));
    }
  }
}
